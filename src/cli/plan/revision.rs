//! The movement files of a project as they were at a revision, asked of `git`. Changes nothing in the repository.

use std::{collections::BTreeMap, ffi::OsStr, io::ErrorKind, path::Path, process::Stdio, time::Duration};

use tokio::{io::AsyncWriteExt as _, process::Command, time};

use crate::{
    cli::exit::{Exit, Failure},
    project::{files, lock},
};

/// How long one question may take.
const DEADLINE: Duration = Duration::from_secs(60);
/// The most text that is read in all.
const LARGEST: u64 = 256 << 20;

/// What a revision holds.
pub(super) struct Revision {
    /// Its commit, as much of it as tells it apart.
    pub(super) commit: String,
    /// The movement files, by their path in the project.
    pub(super) files: BTreeMap<String, String>,
    pub(super) lock: Option<String>,
}

/// Reads what `revision` holds of the project at `root`.
pub(super) async fn read(root: &Path, revision: &str) -> Result<Revision, Failure> {
    let commit = format!("{revision}^{{commit}}");
    let found = git(root, ["rev-parse", "--verify", "--quiet", "--short", "--end-of-options", &commit], "").await?;
    let Some(commit) = found.text.map(|text| text.trim().to_owned()).filter(|commit| !commit.is_empty()) else {
        return Err(outside(root, revision).await?);
    };
    let listed = git(root, ["ls-tree", "-r", "-z", "-l", &commit], "").await?;
    let Some(listed) = listed.text else {
        return Err(Failure::new(Exit::Damaged, format!("git cannot list `{revision}`: {}", listed.said)));
    };
    let mut wanted: Vec<(&str, &str)> = Vec::new();
    let mut size = 0;
    for entry in listed.split('\0') {
        let Some((facts, path)) = entry.split_once('\t') else { continue };
        let [mode, "blob", object, length] = facts.split_whitespace().collect::<Vec<_>>()[..] else { continue };
        // Of a link only its target is kept there.
        if mode != "120000" && (is_movement(path) || path == lock::FILE) {
            size += length.parse::<u64>().unwrap_or(LARGEST);
            wanted.push((path, object));
        }
    }
    if wanted.len() > files::MOST || size > LARGEST {
        let what = format!("`{revision}` holds {} movement files of {} MiB", wanted.len(), size >> 20);
        return Err(Failure::new(Exit::Damaged, format!("{what}: more than is read")));
    }
    let objects: String = wanted.iter().map(|(_, object)| format!("{object}\n")).collect();
    let bodies = git(root, ["cat-file", "--batch"], &objects).await?;
    let texts = bodies.text.as_deref().and_then(|whole| split(whole, wanted.len()));
    let Some(texts) = texts else {
        let why = if bodies.said.is_empty() { "a file of it is no UTF-8 text" } else { bodies.said.as_str() };
        return Err(Failure::new(Exit::Damaged, format!("git cannot give the files of `{revision}`: {why}")));
    };
    let mut files: BTreeMap<String, String> =
        wanted.iter().zip(texts).map(|((path, _), text)| ((*path).to_owned(), text.to_owned())).collect();
    let lock = files.remove(lock::FILE);
    Ok(Revision { commit, files, lock })
}

/// As the project itself looks for them.
fn is_movement(path: &str) -> bool {
    let passed_by = |part: &str| part.starts_with('.') || part == "target" || part == "node_modules";
    path.strip_suffix(".mvt").is_some_and(|name| !name.is_empty()) && !path.split('/').any(passed_by)
}

/// The bodies of `cat-file --batch`: a line of facts, as many bytes as that says, and a newline, for each.
fn split(whole: &str, count: usize) -> Option<Vec<&str>> {
    let mut rest = whole;
    let mut bodies = Vec::with_capacity(count);
    for _ in 0..count {
        let (facts, more) = rest.split_once('\n')?;
        let length: usize = facts.rsplit(' ').next()?.parse().ok()?;
        bodies.push(more.get(..length)?);
        rest = more.get(length + 1..)?;
    }
    Some(bodies)
}

/// Why there is no such revision.
async fn outside(root: &Path, revision: &str) -> Result<Failure, Failure> {
    let inside = git(root, ["rev-parse", "--is-inside-work-tree"], "").await?;
    if inside.text.is_none_or(|text| text.trim() != "true") {
        let what = format!("`{}` is in no git repository: there is nothing to compare with", root.display());
        return Ok(Failure::usage(what).help("`--against` compares with a revision of the project's own repository"));
    }
    let help = "a branch, a tag, `HEAD~1` or a commit; in CI the history may have to be fetched first";
    Ok(Failure::usage(format!("git knows no revision `{revision}` here")).help(help))
}

/// What git answered.
struct Answer {
    /// `None`: it failed, or gave no text.
    text: Option<String>,
    said: String,
}

async fn git<const N: usize>(root: &Path, arguments: [&str; N], input: &str) -> Result<Answer, Failure> {
    let mut command = Command::new("git");
    command.arg("-C").arg(root).args(arguments.map(OsStr::new)).env("GIT_OPTIONAL_LOCKS", "0").env("LC_ALL", "C");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn().map_err(|why| {
        if why.kind() == ErrorKind::NotFound {
            return Failure::usage("`--against` asks `git`, which is not installed here")
                .help("install git, or leave it out");
        }
        Failure::new(Exit::Damaged, format!("git cannot be started: {why}"))
    })?;
    let stdin = child.stdin.take();
    let asked = input.to_owned();
    let writing = async move {
        if let Some(mut stdin) = stdin {
            // One that reads no further has its answer, or says why not.
            drop(stdin.write_all(asked.as_bytes()).await);
        }
    };
    let answered = time::timeout(DEADLINE, async { tokio::join!(writing, child.wait_with_output()).1 }).await;
    let output = match answered {
        Ok(Ok(output)) => output,
        Ok(Err(why)) => return Err(Failure::new(Exit::Damaged, format!("git gave no answer: {why}"))),
        Err(_) => {
            let seconds = DEADLINE.as_secs();
            return Err(Failure::new(Exit::Damaged, format!("git gave no answer within {seconds} seconds")));
        }
    };
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    let text = if output.status.success() { String::from_utf8(output.stdout).ok() } else { None };
    Ok(Answer { text, said })
}
