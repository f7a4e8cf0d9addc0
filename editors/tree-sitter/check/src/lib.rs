//! The committed parser, for the tests beside it. Nothing else is to stand on this crate.

use tree_sitter_language::LanguageFn;

unsafe extern "C" {
    fn tree_sitter_movement() -> *const ();
}

/// Movement.
// SAFETY: the function is the one that the generated parser gives to be called so.
pub const LANGUAGE: LanguageFn = unsafe { LanguageFn::from_raw(tree_sitter_movement) };
