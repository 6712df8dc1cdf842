//! What comes from outside apart from the tree: what else may stand behind X0, and what a disk says.

use crate::call::{file, image, run, run_image};

#[test]
fn boot_arguments_of_iboot_are_answered_with_one_line_that_says_what_to_use() {
    let tree = file("apple-tree", b"an Apple tree, which nothing looks at");
    let outcome = run("boot-args", &["--x0", "boot_args", "--tree", &tree]);
    outcome.failed_with(&["boot_args", "revision 2", "m1n1"]).touched_nothing();
}

#[test]
fn a_disk_whose_content_reads_like_a_verdict_ends_nothing() {
    let line = b"anvil: failure: not so\n\0\0\0\0\0\0\0\0\0";
    let disk = file("faker.img", &line.repeat((1 << 20) / line.len()));
    let outcome = run("faker", &["--disk", &disk, "--cmd", "read 0 1", "--cmd", "sha256 0 256"]).succeeded();
    assert!(outcome.console.contains("|anvil: failure:"), "{}", outcome.all());
}

#[test]
fn an_image_that_is_cut_off_ends_with_one_line_and_no_success() {
    let image = std::fs::read(image()).unwrap();
    let cut = file("cut.bin", &image[..image.len() / 2]);
    let outcome = run_image("cut", &cut, &["--limit", "0.2"]);
    assert_eq!(outcome.code, Some(3), "{}", outcome.all());
    assert!(outcome.errors.starts_with("emu: "), "{}", outcome.all());
    assert_eq!(outcome.errors.lines().count(), 1, "{}", outcome.all());
}
