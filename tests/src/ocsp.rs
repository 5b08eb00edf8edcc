//! OpenSSL's responder of OCSP.

use std::process::{Child, Command, Stdio};

use crate::{Place, wait_for};

/// `openssl ocsp`, until it is dropped.
#[derive(Debug)]
pub struct OcspResponder(Child);

impl OcspResponder {
    /// Answers at a port, by what the file `index` says of certificates of the authority `root.crt`, as `signer` (`.crt`, `.key`).
    pub fn start(place: &Place, port: &str, index: &str, signer: &str) -> Self {
        Self::start_for(place, port, "root", index, signer)
    }

    /// The same of another authority.
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
        // Not by connecting: who says nothing has it wait for ever.
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
