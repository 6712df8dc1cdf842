//! The same image file on QEMU's `virt`, entered at each exception level: start-up code, translation, exceptions and the
//! console are proved on a machine that nobody here wrote.

use crate::common::run;

#[test]
fn the_image_comes_up_at_el1_at_el2_and_at_el2_with_vhe() {
    for (level, wanted) in [("1", "EL1"), ("2", "EL2"), ("2-vhe", "EL2")] {
        for log in ["text", "defmt"] {
            let call = run(&["--machine", "virt", "--level", level, "--log", log]);
            // This machine has no ANS: the image says so in one line and powers off, which proves all that lies before.
            let call = call.failed_with(1, &["nvme"]);
            assert!(call.console.contains(wanted), "{level}: {}", call.all());
            assert!(call.console.lines().any(|line| line.starts_with("anvil: failure: ")), "{}", call.all());
        }
    }
}

#[test]
fn what_works_on_the_m1_only_is_refused_there() {
    run(&["--machine", "virt", "--fault", "no-hello"]).failed_with(2, &["--fault", "t8103"]);
}
