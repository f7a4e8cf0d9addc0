//! The one list of modules: those that come with listen-fire, and the project's own under `modules/`.
//!
//! The only file that names a module's crate.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use lf_lang::{
    check::catalog::ModuleFacts,
    diag::{Diagnostic, codes},
    source::{SourceMap, Span},
};
use lf_module::{Module, Secret};
use smol_str::SmolStr;

use super::{
    Project, ProjectError,
    file::{BUNDLED, OauthSettings},
    files,
};

/// The folder of the project's own modules.
const FOLDER: &str = "modules";
/// The most modules of one project.
const MOST: usize = 500;

/// Checks an address of OAuth: secrets may go there.
///
/// # Errors
/// What is wrong with it.
pub fn check_oauth_address(text: &str, what: &str) -> Result<(), String> {
    lf_mcp::oauth::check_endpoint(text, what)
}

/// The OAuth app of an install.
#[must_use]
pub fn oauth_app(app: &OauthSettings, secret: Option<Secret>) -> lf_mcp::oauth::App {
    lf_mcp::oauth::App {
        authorize_url: app.authorize_url.clone(),
        token_url: app.token_url.clone(),
        client_id: app.client_id.clone(),
        client_secret: secret,
        scope: app.scope.clone(),
        discover: app.discover,
    }
}

fn bundled(name: &str, app: Option<&OauthSettings>, secret: Option<&Secret>) -> Option<Arc<dyn Module>> {
    match name {
        "@lf/mcp" => {
            let app = app.map(|app| oauth_app(app, secret.cloned()));
            Some(Arc::new(lf_mcp::Mcp::new(app)))
        }
        _ => None,
    }
}

/// Every module that a project can use, installed or not.
#[derive(Debug, Clone, Default)]
pub struct Registry {
    modules: BTreeMap<SmolStr, Arc<dyn Module>>,
    /// Bundled, but not installed in this project.
    absent: Vec<SmolStr>,
    /// Files under `modules/` that cannot be used; their faults were reported.
    broken: Vec<SmolStr>,
}

impl Registry {
    /// Reads the project's modules; `secrets` are those of OAuth apps, by module. Faults in their files are reported in
    /// `sources`.
    ///
    /// # Errors
    /// The folder or a file in it cannot be read.
    pub fn load(
        project: &Project,
        secrets: &BTreeMap<SmolStr, Secret>,
        sources: &mut SourceMap,
    ) -> Result<(Self, Vec<Diagnostic>), ProjectError> {
        let mut registry = Self::default();
        let mut problems = Vec::new();
        for name in BUNDLED {
            let module = bundled(name, project.file.oauth.get(*name), secrets.get(*name));
            registry.modules.extend(module.map(|module| ((*name).into(), module)));
            if !project.file.modules.contains(*name) {
                registry.absent.push((*name).into());
            }
        }
        for path in module_files(&project.root.join(FOLDER))? {
            let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
            let text = files::read(&path)?;
            let source = sources.add(project.display(&path), text.as_str());
            let name = SmolStr::from(format!("#{stem}"));
            let (module, faults) = lf_rest::RestModule::load(&stem, &text);
            problems.extend(faults.into_iter().map(|fault| {
                let at = |offset: usize| u32::try_from(offset.min(text.len())).unwrap_or(u32::MAX);
                let span = Span::new(source, at(fault.span.start), at(fault.span.end));
                let mut diagnostic = match fault.severity {
                    lf_rest::Severity::Error => Diagnostic::error(codes::MOV_MODULE_FILE, span, fault.message),
                    lf_rest::Severity::Warning => Diagnostic::warning(codes::MOV_MODULE_FILE, span, fault.message),
                };
                diagnostic.help.extend(fault.help);
                diagnostic
            }));
            match module {
                Some(module) => drop(registry.modules.insert(name, Arc::new(module))),
                None => registry.broken.push(name),
            }
        }
        Ok((registry, problems))
    }

    /// The module of that name, if it can be used here: known, whole and installed.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Module>> {
        self.modules.get(name).filter(|_| !self.absent.iter().any(|absent| absent == name))
    }

    /// Whether it comes with listen-fire but is not installed in this project.
    #[must_use]
    pub fn not_installed(&self, name: &str) -> bool {
        self.absent.iter().any(|absent| absent == name)
    }

    /// Whether its file has faults.
    #[must_use]
    pub fn broken(&self, name: &str) -> bool {
        self.broken.iter().any(|broken| broken == name)
    }

    /// The names of all.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.modules.keys().chain(&self.broken).map(SmolStr::as_str)
    }

    /// What the checker needs to know of each.
    #[must_use]
    pub fn facts(&self) -> BTreeMap<SmolStr, ModuleFacts> {
        let facts = |module: &Arc<dyn Module>| {
            let manifest = module.manifest();
            ModuleFacts {
                not_installed: self.not_installed(&manifest.name),
                takes_credential: !manifest.credentials.is_empty(),
                credential_optional: manifest.credential_optional,
                settings: manifest.settings.iter().map(|setting| (setting.name.clone(), setting.ty.clone())).collect(),
            }
        };
        self.modules.iter().map(|(name, module)| (name.clone(), facts(module))).collect()
    }
}

fn module_files(folder: &Path) -> Result<Vec<std::path::PathBuf>, ProjectError> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let failed = |why| ProjectError::io("look into", folder, why);
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|extension| extension == "toml") && path.is_file() {
            found.push(path);
        }
    }
    if found.len() > MOST {
        return Err(failed(std::io::Error::other(format!("more than {MOST} modules"))));
    }
    found.sort();
    Ok(found)
}
