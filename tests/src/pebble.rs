//! Pebble, the ACME test server of Let's Encrypt: a real certificate authority that no client trusts.

use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use crate::place::free_port;
use crate::{NameServer, Place, Signal, signal, tool, wait_for};

/// Options of Pebble.
#[derive(Clone, Debug)]
pub struct PebbleOptions {
    /// Port to which `http-01` validation connects.
    pub http_port: u16,
    /// Port to which `tls-alpn-01` validation connects.
    pub tls_port: u16,
    /// Lifetime of certificates of the profile `short`, in seconds; `None` if the profile does not exist. With the
    /// profile, an order must specify a profile, because Pebble otherwise chooses any.
    pub short_s: Option<u32>,
    /// Set if accounts require an external account binding with the key `kid-1`.
    pub external_accounts: bool,
    /// Percentage of valid nonces that are rejected.
    pub refused_nonces: u8,
    /// Maximum delay of a validation, in seconds; `None` for immediate validation.
    pub slow_s: Option<u8>,
}

/// Secret of `kid-1`.
pub const EXTERNAL_KEY: &str = "zWNDZM6eQGHWpSRTPal5eIUYFTu7EajVIoguysqZ9wG44nMEtx3MUAsUDkMTQ12W";

/// Running Pebble, killed on drop. Its files are in the folder of the server under test.
#[derive(Debug)]
pub struct Pebble {
    child: Child,
    port: u16,
    management: u16,
    log: PathBuf,
    /// DNS server of Pebble, which the server under test may use as well.
    pub names: NameServer,
}

impl Pebble {
    /// Starts Pebble and waits until it listens. Its HTTPS certificate is issued by an authority whose certificate is
    /// written to `pebble-ca.crt`.
    pub fn start(place: &Place, options: &PebbleOptions) -> Self {
        let (port, management) = (free_port(), free_port());
        make_certificates(place);
        let path = |name: &str| place.path(name).display().to_string();
        let profile = |name: &str, seconds: u32| {
            format!(r#""{name}": {{ "description": "for tests", "validityPeriod": {seconds} }}"#)
        };
        let mut profiles = vec![profile("default", 7_776_000)];
        profiles.extend(options.short_s.map(|seconds| profile("short", seconds)));
        place.write(
            "pebble.json",
            format!(
                r#"{{ "pebble": {{
                    "listenAddress": "127.0.0.1:{port}", "managementListenAddress": "127.0.0.1:{management}",
                    "certificate": "{}", "privateKey": "{}",
                    "httpPort": {}, "tlsPort": {}, "ocspResponderURL": "", "keyAlgorithm": "ecdsa",
                    "retryAfter": {{ "authz": 1, "order": 1 }},
                    "externalAccountBindingRequired": {},
                    "externalAccountMACKeys": {{ "kid-1": "{EXTERNAL_KEY}" }},
                    "profiles": {{ {} }} }} }}"#,
                path("pebble.crt"),
                path("pebble.key"),
                options.http_port,
                options.tls_port,
                options.external_accounts,
                profiles.join(", "),
            ),
        );
        let names = NameServer::new();
        let log = place.path("pebble.log");
        let output = File::create(&log).expect("log");
        let mut command = Command::new(tool("pebble"));
        command.arg("-config").arg(place.path("pebble.json"));
        command.arg("-dnsserver").arg(format!("127.0.0.1:{}", names.port));
        command.env("PEBBLE_WFE_NONCEREJECT", options.refused_nonces.to_string());
        match options.slow_s {
            Some(seconds) => command.env("PEBBLE_VA_SLEEPTIME", seconds.to_string()),
            None => command.env("PEBBLE_VA_NOSLEEP", "1"),
        };
        command.stdin(Stdio::null()).stdout(output.try_clone().expect("log")).stderr(output);
        let mut child = command.spawn().expect("pebble starts");
        wait_for("Pebble", || {
            let ended = child.try_wait().expect("wait");
            assert!(ended.is_none(), "Pebble ended:\n{}", place.read("pebble.log"));
            let listens = |port| std::net::TcpStream::connect(("127.0.0.1", port)).is_ok();
            listens(port) && listens(management)
        });
        Self { child, port, management, log, names }
    }

    /// Returns the URL of the ACME directory.
    pub fn directory(&self) -> String {
        format!("https://localhost:{}/dir", self.port)
    }

    /// Writes the root certificate of the certificates that Pebble issues to `issued-by.crt` in the folder.
    pub fn save_root(&self, place: &Place) {
        let output = Command::new("curl")
            .args(["-sk", "--max-time", "20", "--noproxy", "*"])
            .arg(format!("https://127.0.0.1:{}/roots/0", self.management))
            .output()
            .expect("curl runs");
        assert!(output.stdout.starts_with(b"-----BEGIN"), "no root from Pebble");
        place.write("issued-by.crt", output.stdout);
    }

    /// Returns the number of occurrences of a text in the log of Pebble.
    pub fn said(&self, text: &str) -> usize {
        std::fs::read_to_string(&self.log).unwrap_or_default().matches(text).count()
    }

    /// Suspends Pebble: clients that connect have to wait.
    pub fn pause(&self) {
        signal(self.child.id(), Signal::STOP);
    }

    /// Resumes Pebble after [`Pebble::pause`].
    pub fn resume(&self) {
        signal(self.child.id(), Signal::CONT);
    }

    /// Returns whether this version of Pebble supports renewal information and profiles.
    pub fn is_new(&self) -> bool {
        let output = Command::new("curl")
            .args(["-sk", "--max-time", "20", "--noproxy", "*"])
            .arg(format!("https://127.0.0.1:{}/dir", self.port))
            .output()
            .expect("curl runs");
        String::from_utf8_lossy(&output.stdout).contains("renewalInfo")
    }
}

impl Drop for Pebble {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            let said = std::fs::read_to_string(&self.log).unwrap_or_default();
            eprintln!("--- log of Pebble ---\n{said}");
        }
    }
}

/// Creates an authority for Pebble's own server, and a certificate for `localhost`.
fn make_certificates(place: &Place) {
    let path = |name: &str| place.path(name).display().to_string();
    let (ca_key, ca, key, request, certificate) = (
        path("pebble-ca.key"),
        path("pebble-ca.crt"),
        path("pebble.key"),
        path("pebble.csr"),
        path("pebble.crt"),
    );
    place.write("pebble.ext", "subjectAltName=DNS:localhost,IP:127.0.0.1\n");
    let ec = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
    openssl(&[
        &["req", "-x509", "-days", "2", "-subj", "/CN=test authority"][..],
        &ec,
        &["-keyout", &ca_key, "-out", &ca],
    ]);
    openssl(&[&["req", "-subj", "/CN=localhost"][..], &ec, &["-keyout", &key, "-out", &request]]);
    openssl(&[
        &["x509", "-req", "-days", "2", "-in", &request, "-CA", &ca, "-CAkey", &ca_key, "-CAcreateserial"][..],
        &["-extfile", &path("pebble.ext"), "-out", &certificate],
    ]);
}

fn openssl(arguments: &[&[&str]]) {
    let output = Command::new("openssl").args(arguments.concat()).output().expect("openssl runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
