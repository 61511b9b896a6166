//! Connections: plain ones, and with TLS where an address asks for it.

use hyper_rustls::HttpsConnector;
use hyper_rustls::HttpsConnectorBuilder;
use hyper_util::client::legacy::connect::HttpConnector;

/// Returns what opens connections with TLS, trusting whom the system trusts.
pub(super) fn tls_connector() -> std::io::Result<HttpsConnector<HttpConnector>> {
    Ok(HttpsConnectorBuilder::new().with_native_roots()?.https_or_http().enable_http1().build())
}
