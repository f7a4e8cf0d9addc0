//! Sealing credentials: XChaCha20-Poly1305, a fresh nonce each time, bound to module, name and kind.
//!
//! Knows the key and nothing of where sealed credentials are kept. The key is never printed, never in an error.

use std::{
    fmt,
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use chacha20poly1305::{
    KeyInit as _, XChaCha20Poly1305, XNonce,
    aead::{Aead as _, Generate as _, Payload},
};
use indexmap::IndexMap;
use lf_module::{Credential, Secret};
use sha2::{Digest as _, Sha256};
use smol_str::SmolStr;
use zeroize::Zeroizing;

use crate::store::Sealed;

/// The environment variable that may hold the key, in base64.
pub const SETTING: &str = "LISTEN_FIRE_KEY";
/// The one that may hold the key that takes its place.
pub const NEXT: &str = "LISTEN_FIRE_KEY_NEXT";
const KEY: usize = 32;
const NONCE: usize = 24;

/// Why a credential cannot be sealed or opened.
#[derive(Debug, thiserror::Error)]
pub enum VaultError {
    #[error("`{SETTING}` is not the base64 of 32 bytes")]
    Setting,
    #[error("`{}` is no key: it does not hold the base64 of 32 bytes", .0.display())]
    File(PathBuf),
    #[error("others can read the key file `{}` (mode {mode:04o}); run `chmod 600 {}`", path.display(), path.display())]
    Open { path: PathBuf, mode: u32 },
    #[error("cannot {doing} the key file `{}`: {why}", path.display())]
    Io { doing: &'static str, path: PathBuf, why: io::Error },
    #[error("no key to open `{name}` with: neither `{SETTING}` nor `{}` is there", path.display())]
    Missing { name: SmolStr, path: PathBuf },
    #[error("`{name}` was sealed with key `{sealed}`, but the key from {from} is `{present}`")]
    OtherKey { name: SmolStr, sealed: SmolStr, present: SmolStr, from: String },
    #[error("the sealed credential `{0}` does not open: it was changed after it was sealed")]
    Changed(SmolStr),
    #[error("the name of a credential cannot hold `{0}`")]
    Name(char),
    #[error("this machine gives no random bytes")]
    Random,
}

/// The key, and where it came from.
#[derive(Clone)]
pub struct Vault {
    key: Zeroizing<[u8; KEY]>,
    id: SmolStr,
    from: String,
}

impl fmt::Debug for Vault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Vault").field("id", &self.id).field("from", &self.from).finish_non_exhaustive()
    }
}

impl Vault {
    /// The key of the setting, else of the key file; `None` if there is neither.
    ///
    /// # Errors
    /// It is no key, or others can read it.
    pub fn open(setting: Option<&Secret>, file: &Path) -> Result<Option<Self>, VaultError> {
        if let Some(setting) = setting {
            let key = decode(setting.expose()).ok_or(VaultError::Setting)?;
            return Ok(Some(Self::of(key, format!("`{SETTING}`"))));
        }
        let failed = |why| VaultError::Io { doing: "read", path: file.to_owned(), why };
        let mut opened = match std::fs::File::open(file) {
            Ok(opened) => opened,
            Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(why) => return Err(failed(why)),
        };
        private(&opened, file)?;
        let mut text = Zeroizing::new(String::with_capacity(128));
        io::Read::by_ref(&mut opened).take(1024).read_to_string(&mut text).map_err(failed)?;
        let key = decode(&text).ok_or_else(|| VaultError::File(file.to_owned()))?;
        Ok(Some(Self::of(key, format!("`{}`", file.display()))))
    }

    /// The same, with a new key file if there is no key yet.
    ///
    /// # Errors
    /// It is no key, others can read it, or it cannot be made.
    pub fn open_or_make(setting: Option<&Secret>, file: &Path) -> Result<Self, VaultError> {
        if let Some(vault) = Self::open(setting, file)? {
            return Ok(vault);
        }
        let mut key = Zeroizing::new([0; KEY]);
        fill(&mut key)?;
        match make(file, &key) {
            Ok(()) => Ok(Self::of(key, format!("`{}`", file.display()))),
            // Another process was first; its key counts.
            Err(why) if why.kind() == io::ErrorKind::AlreadyExists => {
                Self::open(setting, file)?.ok_or_else(|| VaultError::File(file.to_owned()))
            }
            Err(why) => Err(VaultError::Io { doing: "make", path: file.to_owned(), why }),
        }
    }

    fn of(key: Zeroizing<[u8; KEY]>, from: String) -> Self {
        let mut digest = Sha256::new();
        digest.update(b"listen-fire key id\0");
        digest.update(*key);
        let id = digest.finalize().iter().take(4).map(|byte| format!("{byte:02x}")).collect::<String>();
        Self { key, id: id.into(), from }
    }

    /// The key's name, which says nothing of it.
    #[must_use]
    pub fn id(&self) -> &SmolStr {
        &self.id
    }

    /// The new key could not be put in the place of the old one.
    pub(super) fn not_put(file: &Path, why: io::Error) -> VaultError {
        VaultError::Io { doing: "replace", path: file.to_owned(), why }
    }

    /// Seals a credential of a module.
    ///
    /// # Errors
    /// Its name cannot be bound, or the machine gives no random bytes.
    pub fn seal(&self, module: &str, credential: &Credential) -> Result<Sealed, VaultError> {
        let bound = bound(module, &credential.name, &credential.kind)?;
        let fields: IndexMap<&str, &str> =
            credential.fields.iter().map(|(name, value)| (name.as_str(), value.expose())).collect();
        let text = Zeroizing::new(serde_json::to_vec(&fields).map_err(|_| VaultError::Random)?);
        let nonce = XNonce::try_generate().map_err(|_| VaultError::Random)?;
        let payload = Payload { msg: &text, aad: &bound };
        let ciphertext = self.cipher().encrypt(&nonce, payload).map_err(|_| VaultError::Random)?;
        let mut sealed = nonce.to_vec();
        sealed.extend(ciphertext);
        Ok(Sealed {
            name: credential.name.clone(),
            module: module.into(),
            kind: credential.kind.clone(),
            key_id: self.id.clone(),
            sealed,
            last_used: None,
            works: None,
        })
    }

    /// Opens a sealed credential.
    ///
    /// # Errors
    /// It was sealed with another key, or changed since.
    pub fn unseal(&self, sealed: &Sealed) -> Result<Credential, VaultError> {
        if sealed.key_id != self.id {
            return Err(VaultError::OtherKey {
                name: sealed.name.clone(),
                sealed: sealed.key_id.clone(),
                present: self.id.clone(),
                from: self.from.clone(),
            });
        }
        let changed = || VaultError::Changed(sealed.name.clone());
        let bound = bound(&sealed.module, &sealed.name, &sealed.kind)?;
        let (nonce, ciphertext) = sealed.sealed.split_at_checked(NONCE).ok_or_else(changed)?;
        let nonce = XNonce::try_from(nonce).map_err(|_| changed())?;
        let payload = Payload { msg: ciphertext, aad: &bound };
        let text = Zeroizing::new(self.cipher().decrypt(&nonce, payload).map_err(|_| changed())?);
        let fields: IndexMap<SmolStr, String> = serde_json::from_slice(&text).map_err(|_| changed())?;
        let fields = fields.into_iter().map(|(name, value)| (name, Secret::new(value))).collect();
        Ok(Credential { name: sealed.name.clone(), kind: sealed.kind.clone(), fields })
    }

    fn cipher(&self) -> XChaCha20Poly1305 {
        XChaCha20Poly1305::new(&(*self.key).into())
    }
}

/// What the seal is bound to, so that a record moved to another name, module or kind does not open.
fn bound(module: &str, name: &str, kind: &str) -> Result<Vec<u8>, VaultError> {
    if [module, name, kind].iter().any(|part| part.contains('\0')) {
        return Err(VaultError::Name('\0'));
    }
    Ok([module, name, kind].join("\0").into_bytes())
}

fn decode(text: &str) -> Option<Zeroizing<[u8; KEY]>> {
    let bytes = Zeroizing::new(STANDARD.decode(text.trim()).ok()?);
    <[u8; KEY]>::try_from(bytes.as_slice()).ok().map(Zeroizing::new)
}

fn fill(key: &mut [u8; KEY]) -> Result<(), VaultError> {
    *key = chacha20poly1305::Key::try_generate().map_err(|_| VaultError::Random)?.into();
    Ok(())
}

fn make(file: &Path, key: &[u8; KEY]) -> io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let text = Zeroizing::new(STANDARD.encode(key) + "\n");
    let mut made = options.open(file)?;
    made.write_all(text.as_bytes())?;
    made.sync_all()
}

#[cfg(unix)]
fn private(opened: &std::fs::File, path: &Path) -> Result<(), VaultError> {
    use std::os::unix::fs::PermissionsExt as _;
    let metadata = opened.metadata().map_err(|why| VaultError::Io { doing: "look at", path: path.to_owned(), why })?;
    let mode = metadata.permissions().mode() & 0o777;
    if mode & 0o077 == 0 { Ok(()) } else { Err(VaultError::Open { path: path.to_owned(), mode }) }
}

#[cfg(not(unix))]
fn private(_: &std::fs::File, _: &Path) -> Result<(), VaultError> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use lf_module::{Credential, Secret};

    use super::{Vault, VaultError};

    fn credential() -> Credential {
        let fields = [("url".into(), Secret::new("https://x/")), ("token".into(), Secret::new("s3cret-word"))];
        Credential { name: "linear".into(), kind: "mcp_token".into(), fields: fields.into_iter().collect() }
    }

    fn vault() -> Vault {
        let key = Secret::new("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=");
        Vault::open(Some(&key), Path::new("nowhere")).unwrap().unwrap()
    }

    #[test]
    fn what_is_sealed_opens_and_holds_nothing_in_the_clear() {
        let sealed = vault().seal("@lf/mcp", &credential()).unwrap();
        assert!(!sealed.sealed.windows(6).any(|window| window == b"s3cret"));
        let opened = vault().unseal(&sealed).unwrap();
        assert_eq!(opened.fields, credential().fields);
        let again = vault().seal("@lf/mcp", &credential()).unwrap();
        assert_ne!(sealed.sealed, again.sealed, "each seal has its own nonce");
        assert!(!format!("{:?} {:?}", vault(), opened).contains("AAEC"));
    }

    #[test]
    fn a_record_moved_or_changed_does_not_open() {
        let sealed = vault().seal("@lf/mcp", &credential()).unwrap();
        let mut moved = [sealed.clone(), sealed.clone(), sealed.clone(), sealed.clone(), sealed.clone()];
        moved[0].name = "other".into();
        moved[1].module = "#crm".into();
        moved[2].kind = "mcp".into();
        moved[3].sealed[30] ^= 1;
        moved[4].sealed.truncate(10);
        for sealed in moved {
            assert!(matches!(vault().unseal(&sealed), Err(VaultError::Changed(_))));
        }
        let other = Vault { id: "00000000".into(), ..vault() };
        assert!(matches!(other.unseal(&sealed), Err(VaultError::OtherKey { .. })));
    }

    #[test]
    fn the_key_file_is_made_once_for_its_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("key");
        assert!(Vault::open(None, &file).unwrap().is_none());
        let sealed = Vault::open_or_make(None, &file).unwrap().seal("m", &credential()).unwrap();
        assert!(Vault::open_or_make(None, &file).unwrap().unseal(&sealed).is_ok());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
            assert!(matches!(Vault::open(None, &file), Err(VaultError::Open { mode: 0o640, .. })));
        }
    }

    #[test]
    fn what_is_no_key_is_refused_without_showing_it() {
        let wrong = Secret::new("hunter2");
        let error = Vault::open(Some(&wrong), Path::new("nowhere")).unwrap_err();
        assert_eq!(error.to_string(), "`LISTEN_FIRE_KEY` is not the base64 of 32 bytes");
    }
}
