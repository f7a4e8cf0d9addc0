//! Addresses of a sign-in: where metadata may lie, what counts as secure, what a server's resource identifier covers.
//!
//! Pure functions over URLs.

use url::{Host, Url};

/// Whether secrets may go there: over TLS, or without leaving this machine.
pub(crate) fn secure(url: &Url) -> bool {
    match url.scheme() {
        "https" => true,
        "http" => loopback(url),
        _ => false,
    }
}

/// Whether the host is this machine by its very name.
pub(crate) fn loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(four)) => four.is_loopback(),
        Some(Host::Ipv6(six)) => six.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    }
}

/// A URL of OAuth, or why it is none. `what` it is, for the message.
pub(crate) fn endpoint(text: &str, what: &str) -> Result<Url, String> {
    let url: Url = text.trim().parse().map_err(|_| format!("{what} is not a URL"))?;
    if url.host().is_none() || !secure(&url) {
        return Err(format!(
            "{what} has to be https: only on this machine (127.0.0.1, localhost) is http used for OAuth"
        ));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(format!("{what} holds a user or a password"));
    }
    Ok(url)
}

/// Where a server's protected-resource metadata may lie: inserted before its path, then at the root.
pub(crate) fn of_resource(server: &Url) -> Vec<Url> {
    let path = server.path().trim_end_matches('/');
    let mut places = vec![at(server, &format!("/.well-known/oauth-protected-resource{path}"))];
    if !path.is_empty() {
        places.push(at(server, "/.well-known/oauth-protected-resource"));
    }
    places
}

/// Where an authorization server's metadata may lie: inserted before the issuer's path; only the `OpenID` form is also
/// appended to it.
pub(crate) fn of_issuer(issuer: &Url) -> Vec<Url> {
    let path = issuer.path().trim_end_matches('/');
    let mut places = vec![
        at(issuer, &format!("/.well-known/oauth-authorization-server{path}")),
        at(issuer, &format!("/.well-known/openid-configuration{path}")),
    ];
    if !path.is_empty() {
        places.push(at(issuer, &format!("{path}/.well-known/openid-configuration")));
    }
    places
}

/// Another path of the same origin.
pub(crate) fn at(url: &Url, path: &str) -> Url {
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    url.set_path(path);
    url
}

/// The server's own identifier: its URL as it was written, with scheme and host in lower case, without fragment, and
/// without a slash that nobody wrote.
pub(crate) fn canonical(written: &str, url: &Url) -> String {
    let mut url = url.clone();
    url.set_fragment(None);
    let text = url.to_string();
    let bare = url.path() == "/" && url.query().is_none() && !written.trim().ends_with('/');
    if bare { text.trim_end_matches('/').to_owned() } else { text }
}

/// Whether a resource identifier covers the server: the same origin, and the same path or one above it.
pub(crate) fn covers(resource: &Url, server: &Url) -> bool {
    let (above, path) = (resource.path().trim_end_matches('/'), server.path().trim_end_matches('/'));
    let within = path.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    resource.origin() == server.origin() && within && resource.query().is_none_or(|query| server.query() == Some(query))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        text.parse().unwrap()
    }

    fn texts(urls: &[Url]) -> Vec<&str> {
        urls.iter().map(Url::as_str).collect()
    }

    #[test]
    fn metadata_is_inserted_and_only_the_openid_form_is_appended() {
        assert_eq!(
            texts(&of_resource(&url("https://h:8443/a/mcp?x=1"))),
            [
                "https://h:8443/.well-known/oauth-protected-resource/a/mcp",
                "https://h:8443/.well-known/oauth-protected-resource",
            ]
        );
        assert_eq!(texts(&of_resource(&url("https://h"))), ["https://h/.well-known/oauth-protected-resource"]);
        assert_eq!(
            texts(&of_issuer(&url("https://as/tenant"))),
            [
                "https://as/.well-known/oauth-authorization-server/tenant",
                "https://as/.well-known/openid-configuration/tenant",
                "https://as/tenant/.well-known/openid-configuration",
            ]
        );
        assert_eq!(
            texts(&of_issuer(&url("https://as/"))),
            ["https://as/.well-known/oauth-authorization-server", "https://as/.well-known/openid-configuration"]
        );
    }

    #[test]
    fn secrets_go_over_tls_or_stay_on_the_machine() {
        for good in ["https://as/token", "http://127.0.0.1:9/t", "http://localhost/t", "http://[::1]/t"] {
            assert!(endpoint(good, "it").is_ok(), "{good}");
        }
        for bad in
            ["http://as/token", "http://10.0.0.1/t", "ftp://as/", "token", "https://u:p@as/", "http://localhost.evil/"]
        {
            assert!(endpoint(bad, "it").is_err(), "{bad}");
        }
    }

    #[test]
    fn no_slash_is_added_to_a_servers_identifier() {
        let canonical = |text: &str| super::canonical(text, &url(text));
        assert_eq!(canonical("HTTPS://H.example"), "https://h.example");
        assert_eq!(canonical("https://h/"), "https://h/");
        assert_eq!(canonical("https://h/MCP#x"), "https://h/MCP");
        assert_eq!(canonical("https://h/mcp/"), "https://h/mcp/");
    }

    #[test]
    fn a_resource_covers_what_lies_below_it_in_its_origin() {
        let covers = |resource: &str, server: &str| super::covers(&url(resource), &url(server));
        assert!(covers("https://h", "https://h/"));
        assert!(covers("https://h/", "https://h/mcp"));
        assert!(covers("https://h/mcp", "https://h/mcp/"));
        assert!(covers("https://h/a", "https://h/a/mcp"));
        assert!(!covers("https://h/a", "https://h/ab"));
        assert!(!covers("https://h/mcp/x", "https://h/mcp"));
        assert!(!covers("https://other/mcp", "https://h/mcp"));
        assert!(!covers("http://h/mcp", "https://h/mcp"));
    }
}
