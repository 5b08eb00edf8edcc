//! Settings of a cluster together with the contents of the files that they name.

use std::fmt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use myriad_cluster::record::MIN_SECRET_BYTES;
use myriad_conf::settings::Settings;
use myriad_conf::{Diagnostic, Text};
use myriad_exchange::runtime::{PlaceFeatures, SettingsCompiler};
use zeroize::Zeroizing;

use super::server_url::ServerUrl;
use super::settings::{ClusterConf, ClusterSettings, PartitionPolicy};

/// Maximum length of the files with the secret and with the password, in bytes.
const MAX_FILE: u64 = 4096;

/// Settings of a cluster, with everything that is needed to take part in it.
#[derive(Clone, PartialEq, Eq)]
pub struct ClusterOptions {
    /// Name of the cluster.
    pub name: String,
    /// Name of this node.
    pub node: String,
    /// Host name of the machine, for display.
    pub hostname: String,
    /// Addresses of Valkey.
    pub servers: Vec<ServerUrl>,
    /// User name and password for Valkey; `None` if it requires no password.
    pub credentials: Option<(Option<String>, Zeroizing<String>)>,
    /// Password for Sentinels; `None` if they require none.
    pub sentinel_password: Option<Zeroizing<String>>,
    /// Certificate authorities that validate the certificates of Valkey and of Sentinels, in PEM; `None` for the
    /// system's.
    pub trusted_certificates: Option<Vec<u8>>,
    /// Secret of the cluster, at least 32 bytes.
    pub secret: Zeroizing<Vec<u8>>,
    /// Use of stored pages while Valkey is not reachable.
    pub partition: PartitionPolicy,
    /// Maximum time that the answer to a purge waits for receipts.
    pub receipt_timeout: Duration,
    /// True if the nodes fetch pages for each other.
    pub shares_pages: bool,
}

/// Shows the options without the passwords and the secret.
impl fmt::Debug for ClusterOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, node, servers, partition, .. } = self;
        write!(f, "ClusterOptions {{ {name:?}, {node:?}, {servers:?}, {partition:?} }}")
    }
}

impl ClusterOptions {
    /// Reads the files that the settings name, relative to `folder`. `hostname` is the name of a node without the line
    /// `node`.
    ///
    /// # Errors
    /// Returns a configuration error if a file cannot be read, is readable for all users, or has no usable content.
    pub fn load(conf: &ClusterConf, folder: &Path, hostname: &str) -> Result<ClusterOptions, Diagnostic> {
        let secret = read_secret(&conf.secret_file, folder, "secret_file")?;
        if secret.len() < MIN_SECRET_BYTES {
            let message = format!(
                "the secret in \"secret_file\" has {} bytes, at least {MIN_SECRET_BYTES} are required",
                secret.len()
            );
            return Err(Diagnostic::error(conf.secret_file.span, message)
                .help("create the secret with `openssl rand -hex 32`"));
        }
        let password = read_password(conf.password_file.as_ref(), folder, "password_file")?;
        let sentinel_password =
            read_password(conf.sentinel_password_file.as_ref(), folder, "sentinel_password_file")?;
        if password.is_none() && conf.username.is_some() {
            return Err(Diagnostic::error(conf.span, "\"username\" requires \"password_file\""));
        }
        let trusted_certificates = match &conf.trusted_certificate {
            None => None,
            Some(file) => {
                Some(std::fs::read(folder.join(&*file.lossy())).map_err(|error| unreadable(file, &error))?)
            }
        };
        Ok(ClusterOptions {
            name: conf.name.clone(),
            node: conf.node.clone().unwrap_or_else(|| hostname.to_owned()),
            hostname: hostname.to_owned(),
            servers: conf.servers.clone(),
            credentials: password.map(|password| (conf.username.clone(), password)),
            sentinel_password,
            trusted_certificates,
            secret,
            partition: conf.partition,
            receipt_timeout: Duration::from_millis(conf.receipt_timeout_ms),
            shares_pages: conf.shares_pages,
        })
    }
}

/// Reads a file with a password; `None` without a file.
fn read_password(
    file: Option<&Text>,
    folder: &Path,
    directive: &str,
) -> Result<Option<Zeroizing<String>>, Diagnostic> {
    let Some(file) = file else { return Ok(None) };
    let bytes = read_secret(file, folder, directive)?;
    match std::str::from_utf8(&bytes) {
        Ok(text) if !text.is_empty() => Ok(Some(Zeroizing::new(text.to_owned()))),
        _ => {
            let message = format!("the password in \"{directive}\" is empty or not UTF-8");
            Err(Diagnostic::error(file.span, message))
        }
    }
}

/// Reads a file with a secret, and removes leading and trailing white space.
fn read_secret(file: &Text, folder: &Path, directive: &str) -> Result<Zeroizing<Vec<u8>>, Diagnostic> {
    let path = folder.join(&*file.lossy());
    let metadata = std::fs::metadata(&path).map_err(|error| unreadable(file, &error))?;
    if metadata.mode() & 0o004 != 0 && metadata.is_file() {
        let message = format!("\"{}\" of \"{directive}\" is readable for all users", path.display());
        return Err(
            Diagnostic::error(file.span, message).help(format!("run `chmod o-rwx {}`", path.display()))
        );
    }
    if metadata.len() > MAX_FILE {
        let message = format!("\"{}\" of \"{directive}\" is longer than {MAX_FILE} bytes", path.display());
        return Err(Diagnostic::error(file.span, message));
    }
    let bytes = Zeroizing::new(std::fs::read(&path).map_err(|error| unreadable(file, &error))?);
    Ok(Zeroizing::new(bytes.trim_ascii().to_vec()))
}

fn unreadable(file: &Text, error: &std::io::Error) -> Diagnostic {
    Diagnostic::error(file.span, format!("\"{}\" cannot be read: {error}", file.lossy()))
        .help("the user of the worker processes must be able to read it")
}

/// Reports errors of the files that the cluster's settings name, once for a configuration.
pub(super) fn compile(compiler: &mut dyn SettingsCompiler, _: &Settings, _: &mut PlaceFeatures) {
    let folder = compiler.folder().to_owned();
    let error = compiler.share(move |http| {
        let conf = http.settings.feature::<ClusterSettings>().cluster.as_ref();
        let error = conf.and_then(|conf| ClusterOptions::load(conf, &folder, "").err());
        UnreportedError(std::sync::Mutex::new(error))
    });
    if let Some(error) = error.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take() {
        compiler.report(error);
    }
}

/// Error of the cluster's files, until it is reported.
struct UnreportedError(std::sync::Mutex<Option<Diagnostic>>);
