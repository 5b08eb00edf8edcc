//! Folder and port of one test.

use std::fs;
use std::net::TcpStream;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

/// Temporary folder of a test with files and words for its configurations; removed on drop, unless `MYRIAD_TEST_KEEP`
/// is set.
///
/// In configurations, `@PORT@` and `@DIR@` are replaced by the port and the folder, `@PARAMS@` by the usual
/// `fastcgi_param` lines, and further words by the values of [`Place::set`].
#[derive(Debug)]
pub struct Place {
    folder: PathBuf,
    /// Port of `@PORT@`.
    pub port: u16,
    words: Vec<(String, String)>,
}

/// Parameters that every test sends to its origin.
const PARAMS: &str = "fastcgi_param REQUEST_METHOD $request_method; fastcgi_param REQUEST_URI $request_uri; \
                      fastcgi_param QUERY_STRING $query_string; fastcgi_param CONTENT_TYPE $content_type; \
                      fastcgi_param CONTENT_LENGTH $content_length; fastcgi_param SERVER_PROTOCOL $server_protocol; \
                      fastcgi_param SCRIPT_NAME $fastcgi_script_name; \
                      fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name;";

/// Returns a free port of the loopback address. The port is below the ephemeral ports of the system (from 32768 on), so
/// that no connection takes it before the server does. Successive ports of a process are not adjacent, because a
/// process that finds its port in use may try the next port. The port is tested by connecting, because a process that
/// another test starts at this moment would inherit a listening socket.
pub(crate) fn free_port() -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    static OWN: Mutex<Vec<UnixListener>> = Mutex::new(Vec::new());
    let start = std::process::id().wrapping_mul(97);
    loop {
        let at = start.wrapping_add(NEXT.fetch_add(7, Ordering::Relaxed)) % 20_000;
        let port = 12_000 + at as u16;
        // An abstract socket reserves the port for this process: other test programs do not use it, even while a server
        // restarts.
        let name = SocketAddr::from_abstract_name(format!("myriad-tests-{port}")).expect("a name");
        let Ok(own) = UnixListener::bind_addr(&name) else { continue };
        if TcpStream::connect(("127.0.0.1", port)).is_err() {
            OWN.lock().unwrap_or_else(PoisonError::into_inner).push(own);
            return port;
        }
    }
}

impl Place {
    /// Creates a folder with `logs/` and `html/` that every user may read, and chooses a free port.
    #[expect(clippy::new_without_default, reason = "it makes a folder: nothing that a default should do")]
    pub fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("myriad-system-{}-{number}", std::process::id()));
        for name in ["logs", "html"] {
            fs::create_dir_all(folder.join(name)).expect("folder");
        }
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).expect("permissions");
        let mut place = Self { port: free_port(), words: Vec::new(), folder };
        let (port, folder) = (place.port.to_string(), place.folder.display().to_string());
        place.set("PORT", &port);
        place.set("DIR", &folder);
        place.set("PARAMS", PARAMS);
        place
    }

    /// Sets the value of `@WORD@` in the configurations of this test. For a word that already has a value, this has no
    /// effect.
    pub fn set(&mut self, word: &str, meaning: &str) {
        self.words.push((format!("@{word}@"), meaning.to_owned()));
    }

    /// Returns a configuration with its words replaced.
    pub fn fill(&self, text: &str) -> String {
        let replace = |text: String, (word, meaning): &(String, String)| text.replace(word, meaning);
        self.words.iter().fold(text.to_owned(), replace)
    }

    /// Returns the folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns a path in the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Writes a file, and creates missing folders of its path.
    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a file in a folder")).expect("folders");
        fs::write(&path, bytes).expect(name);
    }

    /// Copies a program into the folder, ready for execution; returns its path.
    ///
    /// A separate process writes the file: if this process had it open for writing, a child that another thread starts
    /// at that moment would inherit the descriptor, and until that child calls execve the file could not be executed
    /// (`ETXTBSY` of execve(2)).
    pub fn install(&self, source: &Path, name: &str) -> PathBuf {
        let path = self.path(name);
        let done = Command::new("install").args(["-D", "-m", "755"]).args([source, &path]).status();
        assert!(done.expect("install").success(), "{name}");
        path
    }

    /// Returns the contents of a file; empty if it does not exist.
    pub fn read(&self, name: &str) -> String {
        String::from_utf8_lossy(&fs::read(self.path(name)).unwrap_or_default()).into_owned()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if std::env::var_os("MYRIAD_TEST_KEEP").is_none() {
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}
