//! OCSP responder of OpenSSL.

use std::process::{Child, Command, Stdio};

use crate::{Place, wait_for};

/// Running `openssl ocsp`; killed on drop.
#[derive(Debug)]
pub struct OcspResponder(Child);

impl OcspResponder {
    /// Starts the responder on a port. It responds according to the file `index` for certificates of the authority
    /// `root.crt`, signed by `signer` (`.crt`, `.key`).
    pub fn start(place: &Place, port: &str, index: &str, signer: &str) -> Self {
        Self::start_for(place, port, "root", index, signer)
    }

    /// Starts the responder like [`OcspResponder::start`], for the authority `AUTHORITY.crt`.
    pub fn start_for(place: &Place, port: &str, authority: &str, index: &str, signer: &str) -> Self {
        let port = place.fill(port);
        let child = Command::new("openssl")
            .args([
                "ocsp",
                "-index",
                index,
                "-CA",
                &format!("{authority}.crt"),
                "-port",
                &port,
                "-nmin",
                "30",
                "-ignore_err",
            ])
            .args(["-rsigner", &format!("{signer}.crt"), "-rkey", &format!("{signer}.key")])
            .current_dir(place.folder())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("openssl runs");
        // Not by connecting: a connection without a request would block the responder forever.
        let listens = format!(":{:04X} ", port.parse::<u16>().expect("a port"));
        wait_for("the responder", || {
            let sockets = ["/proc/net/tcp", "/proc/net/tcp6"]
                .map(|table| std::fs::read_to_string(table).unwrap_or_default());
            sockets
                .iter()
                .flat_map(|table| table.lines())
                .any(|line| line.contains(&listens) && line.contains(" 0A "))
        });
        Self(child)
    }
}

impl Drop for OcspResponder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
