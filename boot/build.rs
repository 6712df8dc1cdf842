//! Tells the linker how the image is laid out. Nothing here applies to the library or to a host build.

fn main() {
    println!("cargo:rerun-if-changed=../linker.ld");
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("none") {
        return;
    }
    let root = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
    let mut arguments = vec![
        format!("-T{root}/../linker.ld"),
        // Position independent: every word that holds an address becomes a relative relocation that the entry code applies,
        // in the compact form.
        "-pie".into(),
        "--no-dynamic-linker".into(),
        "-z".into(),
        "pack-relative-relocs".into(),
        // Functions with equal code become one; nothing here compares their addresses.
        "--icf=all".into(),
        // A relocation in read-only sections would be written after those are meant to be constant; here the entry code
        // runs before any page is read-only, so constants with addresses may stay in `.rodata`.
        "-z".into(),
        "notext".into(),
        // The unit of the translation tables, and so of the section boundaries.
        "-z".into(),
        "max-page-size=4096".into(),
    ];
    if std::env::var_os("CARGO_FEATURE_DEFMT").is_some() {
        arguments.push("-Tdefmt.x".into());
    }
    for argument in arguments {
        println!("cargo:rustc-link-arg-bin=anvil={argument}");
    }
}
