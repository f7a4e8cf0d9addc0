//! `fmt`: what is written, what is left alone, and what `--check` says.

use super::place::Place;

const CROOKED: &str = "crm   =  connect #acme_crm using acme // ours\nx=1;y=2\n";
const STRAIGHT: &str = "crm = connect #acme_crm using acme // ours\nx = 1\ny = 2\n";

fn project() -> Place {
    let place = Place::bare("name = \"x\"\n");
    place.write("movements/a.mvt", CROOKED);
    place.write("movements/b.mvt", STRAIGHT);
    place
}

#[test]
fn only_what_differs_is_written() {
    let place = project();
    let before = std::fs::metadata(place.file("movements/b.mvt")).unwrap().modified().unwrap();
    place.run(["fmt", "--check"]).code(1).shows("movements/a.mvt\n").says("1 of 2 files would be laid out anew");
    assert_eq!(place.read("movements/a.mvt"), CROOKED);
    let ran = place.run(["fmt"]).code(0).says("1 of 2 files laid out anew");
    assert_eq!(ran.out, "movements/a.mvt\n");
    assert_eq!(place.read("movements/a.mvt"), STRAIGHT);
    assert_eq!(std::fs::metadata(place.file("movements/b.mvt")).unwrap().modified().unwrap(), before);
    place.run(["fmt", "--check"]).code(0).shows_nothing().says("0 of 2 files");
    assert_eq!(std::fs::read_dir(place.file("movements")).unwrap().count(), 2, "nothing is left beside the files");
}

#[test]
fn what_cannot_be_read_is_left_alone_and_said() {
    let place = project();
    let broken = "x  =  (1\n\n\n\ny=2\n";
    place.write("movements/c.mvt", broken);
    place.run(["fmt"]).code(1).says("movements/c.mvt: left alone").says("MOV_PARSE_UNCLOSED").says("1 left alone");
    assert_eq!(place.read("movements/c.mvt"), broken);
    assert_eq!(place.read("movements/a.mvt"), STRAIGHT, "the others are laid out");
    let found = place.run(["fmt", "--json", "movements/c.mvt"]).code(1).json();
    assert_eq!(found["left"][0]["path"], "movements/c.mvt");
    assert_eq!(found["left"][0]["problems"][0]["code"], "MOV_PARSE_UNCLOSED");
}

#[test]
fn standard_input_comes_out_laid_out_and_needs_no_project() {
    let place = Place::empty();
    let ran = place.run_with(["fmt", "-"], CROOKED).code(0);
    assert_eq!((ran.out.as_str(), ran.err.as_str()), (STRAIGHT, ""));
    let ran = place.run_with(["fmt", "-"], "x = (1\n").code(1).says("left alone");
    assert_eq!(ran.out, "x = (1\n", "an editor loses nothing");
    place.run_with(["fmt", "--check", "-"], CROOKED).code(1);
    place.run_with(["fmt", "--check", "-"], STRAIGHT).code(0);
    place.run(["fmt", "-", "x.mvt"]).code(2).says("`-` stands alone");
    place.run(["fmt", "x.mvt"]).code(2).says("there is no file `x.mvt`");
}

#[cfg(unix)]
#[test]
fn a_link_stays_a_link_and_permissions_stay() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = project();
    let real = place.file("movements/a.mvt");
    std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o640)).unwrap();
    std::os::unix::fs::symlink(&real, place.file("link.mvt")).unwrap();
    place.run(["fmt", "link.mvt"]).code(0);
    assert_eq!(place.read("movements/a.mvt"), STRAIGHT);
    assert!(std::fs::symlink_metadata(place.file("link.mvt")).unwrap().is_symlink());
    assert_eq!(std::fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
}
