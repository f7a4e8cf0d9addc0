//! A server as a connection: its tools are the types, reading and writing are calls of them.

use std::{
    ops::Deref,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicBool, Ordering},
    },
};

use async_trait::async_trait;
use lf_module::{
    Call, CallError, Connection, Description, File, Key, Kind, Landed, Listen, Page, Read, Record, Repeat, Source,
    Value, Write, Written, call::Origin, json,
};
use lf_transport::Sends;
use smol_str::SmolStr;
use tokio::sync::Mutex;

use crate::{
    answer::Answer,
    attempt::Hears,
    blame,
    check::Misfit,
    client::{Ask, Client},
    era, files,
    listed::Listed,
    listing::{self, Catalog, Listing},
    message, param_headers,
    resources::{self, ResourceType},
    source,
    text::clean,
    tools::{Arguments, Caution, Tool, WHOLE},
};

/// What a server says about its lists, whenever it says so.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    /// It changed since it was last asked for.
    stale: AtomicBool,
    /// The same of the list of resources.
    pub(crate) resources: AtomicBool,
}

impl Hears for Changes {
    fn notification(&self, method: &str, _: &Value, _: Option<&str>) {
        match method {
            "notifications/tools/list_changed" => self.stale.store(true, Ordering::Relaxed),
            "notifications/resources/list_changed" => self.resources.store(true, Ordering::Relaxed),
            _ => {}
        }
    }
}

/// One connected server, as the host holds it.
#[derive(Debug)]
pub(crate) struct Connected(pub(crate) Arc<Server>);

impl Deref for Connected {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.0
    }
}

/// One connected server.
#[derive(Debug)]
pub(crate) struct Server {
    /// The connection's identity in the project.
    pub(crate) id: SmolStr,
    pub(crate) client: Client,
    /// What an answer may lack is typed so.
    pub(crate) strict: bool,
    /// Whose hints are not believed.
    pub(crate) caution: Caution,
    /// What the server offered when it was last described.
    pub(crate) catalog: RwLock<Option<Arc<Catalog>>>,
    /// Held while the tools are listed for the first time, so that many calls list them once.
    pub(crate) first_listing: Mutex<()>,
    pub(crate) changes: Arc<Changes>,
    pub(crate) listed: Listed,
    /// Link-local addresses may be reached.
    pub(crate) link_local: bool,
}

#[async_trait]
impl Connection for Connected {
    async fn describe(&self, call: &Call) -> Result<Description, CallError> {
        let now = self.client.wire.ports.clock.monotonic();
        let fresh = |catalog: &Arc<Catalog>| catalog.fresh_until.is_some_and(|until| now < until);
        let catalog = match self.known().filter(fresh) {
            Some(catalog) => catalog,
            None => self.refresh(call).await?,
        };
        let session = self.client.session(call).await?;
        let mut warnings = catalog.warnings.clone();
        warnings.extend(self.client.wire.endpoint.warning());
        let tools = catalog.tools.values().map(|tool| tool.shape(self.strict));
        let facts = [
            ("protocol", session.version),
            ("server", session.server.as_str()),
            ("server version", session.server_version.as_str()),
        ];
        Ok(Description {
            types: tools.chain(catalog.resources.values().map(ResourceType::shape)).collect(),
            warnings,
            facts: facts.map(|(name, fact)| (name.to_owned(), fact.to_owned())).to_vec(),
        })
    }

    async fn raw(&self, call: &Call) -> Result<String, CallError> {
        let entries = self.tools(call).await?.entries;
        let session = self.client.session(call).await?;
        let mut all = vec![(session.era.opening(), session.raw.clone()), ("tools", Value::list(entries))];
        if resources::offered(session.raw.field("capabilities")).is_some() {
            all.push(("resourceTemplates", Value::list(self.templates(&mut Catalog::default(), call).await?)));
            let listing = listing::all(&self.client, listing::RESOURCES, call).await.unwrap_or_default();
            all.push(("resources", Value::list(listing.entries)));
        }
        Ok(json::plain(&Value::record(all.into_iter().collect())))
    }

    async fn read(&self, read: &Read, call: &Call) -> Result<Page, CallError> {
        if read.origin != Origin::Root {
            return Err(limit(format!("`{}` is a tool, which is read from the connection's root", read.ty)));
        }
        if read.page.is_some() {
            return Ok(Page { records: Vec::new(), next: None });
        }
        if let Some(ty) = self.catalog(call).await?.resources.get(&read.ty) {
            let uri = ty.uri(&read.pins)?;
            let contents = resources::read(&self.client, &uri, call).await?;
            let said = self.listed.now(&uri, &self.client, &self.changes, call).await;
            let records =
                contents.iter().map(|contents| ty.record(&self.id, &uri, &read.pins, contents, &said)).collect();
            return Ok(Page { records, next: None });
        }
        let (answer, missing, warnings) = self.call(&read.ty, &read.pins, Sends::Safe, call).await?;
        for warning in warnings {
            tracing::warn!("{}: {warning}", crate::NAME);
        }
        if let Some(name) = missing.first() {
            let message =
                format!("`{}` answered without a fitting `{name}`, which its output schema promises", read.ty);
            return Err(CallError::new(Kind::Drift, message));
        }
        let mut fields = read.pins.clone();
        fields.0.extend(answer.0);
        Ok(Page { records: vec![Landed { key: None, version: None, fields }], next: None })
    }

    async fn get(&self, ty: &SmolStr, key: &Key, call: &Call) -> Result<Option<Landed>, CallError> {
        if let Some(ty) = self.catalog(call).await?.resources.get(ty) {
            let contents = resources::read(&self.client, &key.0, call).await?;
            let said = self.listed.now(&key.0, &self.client, &self.changes, call).await;
            return Ok(contents.map(|contents| ty.record(&self.id, &key.0, &Record::new(), &contents, &said)));
        }
        Err(limit(format!("`{ty}` is a tool: its answers have no key to get them by")))
    }

    async fn find(&self, ty: &SmolStr, _by: &Record, _call: &Call) -> Result<Vec<Landed>, CallError> {
        Err(limit(format!("`{ty}` is a tool: its answers cannot be looked up by their fields")))
    }

    /// Of a resource: it is read again.
    async fn bytes(&self, file: &File, most: usize, call: &Call) -> Result<Option<Vec<u8>>, CallError> {
        let contents = resources::read(&self.client, &file.token, call).await?;
        contents.map_or(Ok(None), |contents| files::bytes(&file.token, &contents, most))
    }

    async fn write(&self, write: &Write, call: &Call) -> Result<Written, CallError> {
        let Write::Create { ty, origin: _, fields } = write else {
            return Err(limit(format!("`{}` is a tool: it can be called, not changed or deleted", write.ty())));
        };
        let (fields, missing, mut warnings) = self.call(ty, fields, Sends::Write, call).await?;
        // The call is done: what its answer lacks must not make it look undone.
        warnings.extend(
            missing
                .iter()
                .map(|name| format!("`{ty}` answered without a fitting `{name}`, which its output schema promises")),
        );
        Ok(Written { key: None, created: true, version: None, fields, warnings })
    }

    fn repeat(&self, _write: &Write) -> Repeat {
        // `idempotentHint` is a claim about effects, not about answers, and servers pass calls on.
        Repeat::Never
    }

    async fn sign_in(&self, call: &Call) -> Result<(), CallError> {
        let Some(signer) = &self.client.wire.endpoint.signer else {
            return Err(limit("a token needs no signing in".to_owned()));
        };
        if signer.explicit() {
            return signer.sign_in(call.deadline).await;
        }
        // What a server wants, it says when it is asked without it. Some want nothing until a tool is called.
        self.client.session(call).await?;
        if signer.signed_in() { Ok(()) } else { signer.sign_in(call.deadline).await }
    }

    fn listen(&self, listen: Listen) -> Result<Box<dyn Source>, CallError> {
        if self.known().is_some_and(|catalog| !catalog.resources.contains_key(&listen.ty)) {
            return Err(unlistenable(&listen.ty));
        }
        Ok(Box::new(source::Resource::new(self.0.clone(), listen)))
    }
}

/// Why a type cannot be listened to.
pub(crate) fn unlistenable(ty: &str) -> CallError {
    limit(format!("`{ty}` is a tool, and tools cannot be listened to"))
}

fn limit(message: String) -> CallError {
    CallError::new(Kind::Limit, message)
}

impl Server {
    async fn refresh(&self, call: &Call) -> Result<Arc<Catalog>, CallError> {
        self.changes.stale.store(false, Ordering::Relaxed);
        let asked = self.client.wire.ports.clock.monotonic();
        let listing = self.tools(call).await?;
        let session = self.client.session(call).await?;
        let mut catalog = listing::catalog(listing, session.era, &self.caution, asked);
        if let Some(listenable) = resources::offered(session.raw.field("capabilities")) {
            let templates = self.templates(&mut catalog, call).await?;
            // Names alone are no reason to do without the rest.
            if let Err(error) = self.listed.refresh(&self.client, &self.changes, call).await {
                catalog.warnings.push(error.message);
            }
            let Catalog { tools, warnings, .. } = &mut catalog;
            catalog.resources = resources::types(&templates, listenable, |name| tools.contains_key(name), warnings);
        }
        let catalog = Arc::new(catalog);
        *self.catalog.write().unwrap_or_else(PoisonError::into_inner) = Some(catalog.clone());
        Ok(catalog)
    }

    /// The tools as they were last listed, unless the server has said since that they are others.
    fn known(&self) -> Option<Arc<Catalog>> {
        if self.changes.stale.load(Ordering::Relaxed) {
            return None;
        }
        self.catalog.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn first(&self, call: &Call) -> Result<Arc<Catalog>, CallError> {
        let clock = &*self.client.wire.ports.clock;
        let Ok(_listing) = lf_transport::by(clock, call.deadline, self.first_listing.lock()).await else {
            return Err(CallError::passing("the tools were still being listed when the time was over"));
        };
        match self.known() {
            Some(catalog) => Ok(catalog),
            None => self.refresh(call).await,
        }
    }

    pub(crate) async fn catalog(&self, call: &Call) -> Result<Arc<Catalog>, CallError> {
        match self.known() {
            Some(catalog) => Ok(catalog),
            None => self.first(call).await,
        }
    }

    async fn tools(&self, call: &Call) -> Result<Listing, CallError> {
        listing::all(&self.client, listing::TOOLS, call).await
    }

    /// The templates of resources. That they cannot be listed costs only them.
    async fn templates(&self, catalog: &mut Catalog, call: &Call) -> Result<Vec<Value>, CallError> {
        match listing::all(&self.client, listing::TEMPLATES, call).await {
            Ok(listing) => {
                catalog.fresh_until = catalog.fresh_until.filter(|_| listing.lasts.is_some());
                Ok(listing.entries)
            }
            Err(error) if error.kind == Kind::Refused => {
                catalog.warnings.push(error.message);
                Ok(Vec::new())
            }
            Err(error) => Err(error),
        }
    }

    /// The tool called `name`, which has to be one that is used like this.
    async fn tool(&self, name: &str, sends: Sends, call: &Call) -> Result<Arc<Tool>, CallError> {
        let catalog = self.catalog(call).await?;
        let drift = |message| CallError::new(Kind::Drift, message);
        let Some(tool) = catalog.tools.get(name) else {
            return Err(drift(format!("the server has no tool `{name}`")));
        };
        if let Some(why) = &tool.unusable {
            return Err(limit(format!("`{name}` cannot be called: {why}")));
        }
        match (sends, tool.read_only) {
            (Sends::Safe, true) | (Sends::Write, false) => Ok(tool.clone()),
            (Sends::Safe, false) => Err(drift(format!("`{name}` is not marked as reading only, so it is written"))),
            (Sends::Write, true) => Err(drift(format!("`{name}` is marked as reading only, so it is read"))),
        }
    }

    /// Calls the tool `name`: its answer's fields, those that it lacks, and what was odd about it.
    async fn call(
        &self,
        name: &str,
        given: &Record,
        sends: Sends,
        call: &Call,
    ) -> Result<(Record, Vec<SmolStr>, Vec<String>), CallError> {
        for again in [false, true] {
            let tool = self.tool(name, sends, call).await?;
            if let Some(done) = self.call_once(&tool, given, sends, again, call).await? {
                return Ok(done);
            }
        }
        Err(CallError::refused(format!("`tools/call {}`: its headers do not suit the server", clean(name, 128))))
    }

    /// One call; `None` if the tool was listed anew and has to be called as it is now.
    async fn call_once(
        &self,
        tool: &Tool,
        given: &Record,
        sends: Sends,
        again: bool,
        call: &Call,
    ) -> Result<Option<(Record, Vec<SmolStr>, Vec<String>)>, CallError> {
        let name = &tool.name;
        let arguments = gather(tool, given)?;
        if let Some(misfit) = tool.input.as_ref().and_then(|input| input.misfit(&arguments)) {
            return Err(unfit(name, misfit));
        }
        let params = message::call(name, &arguments);
        let what = format!("tools/call {}", clean(name, 128));
        let headers = param_headers::of(&tool.headers, &arguments);
        let ask =
            Ask { method: "tools/call", params: &params, sends, what: &what, name: Some(name), headers: &headers };
        let reply = self.client.request(ask, call).await?;
        if !again && matches!(&reply.answer, Err(error) if error.code == era::HEADERS_DISAGREE) {
            // The tool wants other headers than when it was listed, and did nothing.
            self.refresh(call).await?;
            return Ok(None);
        }
        let refused = |text: &str, code: Option<i64>| {
            let field = blame::argument(text, &tool.argument_names());
            let about = field.map(|field| format!(" (about `{field}`)")).unwrap_or_default();
            let message = format!("`{what}`: the server refused it{about}: {text}");
            self.client.discreet(CallError {
                status: code,
                field: field.map(str::to_owned),
                attempts: reply.attempts,
                ..CallError::refused(message)
            })
        };
        match &reply.answer {
            Err(error) => Err(refused(&error.message, Some(error.code))),
            Ok(result) => match Answer::read(tool, result) {
                Answer::Refused(text) => Err(refused(&text, None)),
                Answer::Done { fields, missing, warnings } => {
                    let endpoint = &self.client.wire.endpoint;
                    let warnings = warnings.into_iter().map(|warning| endpoint.without_secrets(warning)).collect();
                    Ok(Some((fields, missing, warnings)))
                }
            },
        }
    }
}

/// The arguments as the server gets them: only what was given, under the names that it gave.
fn gather(tool: &Tool, given: &Record) -> Result<Value, CallError> {
    match &tool.arguments {
        Arguments::Named(_) => {
            let present = given.iter().filter(|(_, value)| !value.is_absent());
            let present = present.map(|(name, value)| (name.clone(), value.clone())).collect();
            files::in_base64(present).map(Value::record)
        }
        Arguments::Whole => match given.get(WHOLE) {
            None | Some(Value::Absent) => Ok(Value::record(Record::new())),
            Some(whole @ Value::Record(_)) => Ok(whole.clone()),
            Some(_) => Err(CallError {
                field: Some(WHOLE.to_owned()),
                ..limit(format!("`{WHOLE}` of `{}` has to be a JSON object", tool.name))
            }),
        },
    }
}

fn unfit(tool: &str, misfit: Misfit) -> CallError {
    let argument = misfit.property.as_ref().map(|name| format!("the argument `{}` of ", clean(name, 128)));
    let message = format!(
        "{}`{tool}` does not fit its schema, so nothing was sent: {}",
        argument.unwrap_or_default(),
        misfit.why
    );
    CallError { field: misfit.property, ..limit(message) }
}
