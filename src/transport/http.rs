//! Connections: plain ones, and with TLS where an address asks for it.

use http::Request;
use http::Response;
use hyper_rustls::HttpsConnector;
use hyper_rustls::HttpsConnectorBuilder;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::Error;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use url::Host;
use url::Url;

/// Returns what opens connections with TLS, trusting whom the system trusts.
pub(super) fn tls_connector() -> std::io::Result<HttpsConnector<HttpConnector>> {
    Ok(HttpsConnectorBuilder::new().with_native_roots()?.https_only().enable_http1().build())
}

/// Tells whether an address leads to this machine and nowhere else.
pub(super) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// A client for one address. It follows no redirect.
pub(super) enum Http {
    Plain(Client<HttpConnector, String>),
    Tls(Client<HttpsConnector<HttpConnector>, String>),
}

impl Http {
    pub(super) fn to(url: &Url) -> std::io::Result<Self> {
        let builder = Client::builder(TokioExecutor::new());
        Ok(match url.scheme() {
            "https" => Http::Tls(builder.build(tls_connector()?)),
            _ => Http::Plain(builder.build_http()),
        })
    }

    pub(super) async fn send(&self, request: Request<String>) -> Result<Response<hyper::body::Incoming>, Error> {
        match self {
            Http::Plain(client) => client.request(request).await,
            Http::Tls(client) => client.request(request).await,
        }
    }
}
