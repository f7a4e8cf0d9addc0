//! Changing `listen-fire.toml` in place: what a person wrote (order, comments, spacing) stays; what they did not ask
//! to change does not change.

use toml_edit::{Array, DocumentMut, Item, Table, value};

use super::{FILE, Project, ProjectError, files};

/// Whether something had to be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edit {
    Changed,
    AsItWas,
}

/// Installs a bundled module in the project.
///
/// # Errors
/// The file cannot be read or written.
pub fn install(project: &Project, module: &str) -> Result<Edit, ProjectError> {
    let path = project.root.join(FILE);
    let text = files::read(&path)?;
    let Some(changed) = installed(&text, module) else { return Ok(Edit::AsItWas) };
    files::replace(&path, &changed)?;
    Ok(Edit::Changed)
}

/// The text with the module installed; `None` if it is already, or if the text is none (it was read before).
fn installed(text: &str, module: &str) -> Option<String> {
    let mut document = text.parse::<DocumentMut>().ok()?;
    let modules = document.entry("modules").or_insert_with(|| Item::Table(Table::new()));
    let modules = modules.as_table_like_mut()?;
    let list = modules.entry("installed").or_insert_with(|| value(Array::new()));
    let list = list.as_array_mut()?;
    if list.iter().any(|name| name.as_str() == Some(module)) {
        return None;
    }
    list.push(module);
    Some(document.to_string())
}

#[cfg(test)]
mod tests {
    use super::installed;

    #[test]
    fn only_the_new_name_is_new() {
        let text = "# ours\nname = \"x\"   # short\n\n[modules]\n# the tracker\ninstalled = [\"@lf/sql\"]\n\n[limits]\ncalls = 5\n";
        let changed = installed(text, "@lf/mcp").unwrap();
        assert_eq!(changed, text.replace("\"@lf/sql\"]", "\"@lf/sql\", \"@lf/mcp\"]"));
        assert_eq!(installed(&changed, "@lf/mcp"), None);
    }

    #[test]
    fn the_table_is_made_where_there_is_none() {
        let changed = installed("name = \"x\"\n", "@lf/mcp").unwrap();
        assert_eq!(changed, "name = \"x\"\n\n[modules]\ninstalled = [\"@lf/mcp\"]\n");
    }
}
