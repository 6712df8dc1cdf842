//! The same image file on QEMU's `virt`, entered in each of the four ways: start-up code, translation, exceptions, the
//! console and the storage are proved on a machine that nobody here wrote.

use crate::common::virt;

#[test]
fn the_image_does_its_main_job_at_el1_at_el2_with_vhe_and_with_e2h_set_before_it() {
    for (level, entered, place) in [
        ("1", "entered at EL1,", "0x40200000"),
        ("2", "entered at EL2 without VHE", "0x40200000"),
        ("2-vhe", "entered at EL2 with VHE", "0x40200000"),
        // The place proves that the stub was there before.
        ("2-e2h", "entered at EL2 with VHE", "0x44000000"),
    ] {
        for log in ["text", "defmt"] {
            let call = virt(&["--level", level, "--log", log]).succeeded();
            for wanted in [entered, place, "QEMU NVMe Ctrl", "known content", "anvil: success"] {
                assert!(call.console.contains(wanted), "{level}: no {wanted:?} in\n{}", call.all());
            }
        }
    }
}
