//! Changing `listen-fire.toml` in place: what a person wrote (order, comments, spacing) stays; what they did not ask
//! to change does not change.

use toml_edit::{Array, DocumentMut, Item, Table, value};

use super::{FILE, Project, ProjectError, file::OauthSettings, files};

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

/// Sets an OAuth app of a module up, or changes what is given of it.
///
/// # Errors
/// The file cannot be read or written.
pub fn set_oauth(project: &Project, module: &str, given: &OauthSettings) -> Result<Edit, ProjectError> {
    let path = project.root.join(FILE);
    let text = files::read(&path)?;
    let Some(changed) = with_oauth(&text, module, given) else { return Ok(Edit::AsItWas) };
    files::replace(&path, &changed)?;
    Ok(Edit::Changed)
}

fn with_oauth(text: &str, module: &str, given: &OauthSettings) -> Option<String> {
    let mut document = text.parse::<DocumentMut>().ok()?;
    let apps = document.entry("oauth").or_insert_with(|| {
        let mut apps = Table::new();
        apps.set_implicit(true);
        Item::Table(apps)
    });
    let app = apps.as_table_like_mut()?.entry(module).or_insert_with(|| Item::Table(Table::new()));
    let app = app.as_table_like_mut()?;
    let texts = [
        ("authorize_url", &given.authorize_url),
        ("token_url", &given.token_url),
        ("client_id", &given.client_id),
        ("scope", &given.scope),
    ];
    let mut changed = false;
    for (name, text) in texts {
        let Some(text) = text else { continue };
        if app.get(name).and_then(Item::as_str) != Some(text) {
            app.insert(name, value(text));
            changed = true;
        }
    }
    if given.discover && app.get("discover").and_then(Item::as_bool) != Some(true) {
        app.insert("discover", value(true));
        changed = true;
    }
    changed.then(|| document.to_string())
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
    use super::{OauthSettings, installed, with_oauth};

    #[test]
    fn only_the_new_name_is_new() {
        let text = "# ours\nname = \"x\"   # short\n\n[modules]\n# the tracker\ninstalled = [\"@lf/sql\"]\n\n[limits]\ncalls = 5\n";
        let changed = installed(text, "@lf/mcp").unwrap();
        assert_eq!(changed, text.replace("\"@lf/sql\"]", "\"@lf/sql\", \"@lf/mcp\"]"));
        assert_eq!(installed(&changed, "@lf/mcp"), None);
    }

    #[test]
    fn of_an_app_only_what_is_given_changes() {
        let text = "name = \"x\"\n";
        let of = |text: &str| Some(text.to_owned());
        let given =
            OauthSettings { authorize_url: of("https://a/"), token_url: of("https://t/"), ..OauthSettings::default() };
        let once = with_oauth(text, "@lf/mcp", &given).unwrap();
        assert_eq!(
            once,
            "name = \"x\"\n\n[oauth.\"@lf/mcp\"]\nauthorize_url = \"https://a/\"\ntoken_url = \"https://t/\"\n"
        );
        assert_eq!(with_oauth(&once, "@lf/mcp", &given), None);
        let id = OauthSettings { client_id: of("app"), ..OauthSettings::default() };
        assert_eq!(with_oauth(&once, "@lf/mcp", &id).unwrap(), format!("{once}client_id = \"app\"\n"));
    }

    #[test]
    fn the_table_is_made_where_there_is_none() {
        let changed = installed("name = \"x\"\n", "@lf/mcp").unwrap();
        assert_eq!(changed, "name = \"x\"\n\n[modules]\ninstalled = [\"@lf/mcp\"]\n");
    }
}
