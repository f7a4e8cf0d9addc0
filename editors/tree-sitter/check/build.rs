//! Compiles the committed parser.

fn main() {
    let source = "../src";
    println!("cargo:rerun-if-changed={source}");
    cc::Build::new()
        .std("c11")
        .include(source)
        .file(format!("{source}/parser.c"))
        .file(format!("{source}/scanner.c"))
        .warnings(true)
        .flag_if_supported("-Wno-unused-parameter")
        .compile("movement");
}
