//! Real Apache with mod_php.

use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::process::{Signal, is_root, missing, signal_group};
use crate::{Place, wait_for};

/// Folder of the modules in Debian.
const MODULES: &str = "/usr/lib/apache2/modules";

/// Apache on the port of a [`Place`], which serves `html/` in the folder of the place; killed with its children on
/// drop.
#[derive(Debug)]
pub struct Apache {
    /// Port on which Apache listens.
    pub port: u16,
    place: Place,
    master: Child,
}

impl Apache {
    /// Starts Apache with two children, and waits until it accepts connections; `html/` must be written before.
    pub fn start(place: Place) -> Self {
        Self::start_with(place, "")
    }

    /// Starts Apache like [`Apache::start`], with the modules of `.htaccess` rules, which are enabled in `html/`.
    pub fn start_with_rules(place: Place) -> Self {
        let rules = "<Directory @DIR@/html>\nAllowOverride All\nOptions FollowSymLinks\n</Directory>\n<FilesMatch \"^\\.ht\">\nRequire all denied\n</FilesMatch>\n";
        Self::start_with_hosts(place, rules)
    }

    /// Starts Apache with the modules of [`Apache::start_with_rules`] and with lines of the main configuration, such as
    /// virtual hosts.
    pub fn start_with_hosts(place: Place, lines: &str) -> Self {
        let modules = [
            "rewrite",
            "headers",
            "expires",
            "filter",
            "deflate",
            "alias",
            "setenvif",
            "env",
            "authz_host",
            "access_compat",
            "authn_core",
            "authn_file",
            "auth_basic",
            "authz_user",
            "autoindex",
            "negotiation",
        ];
        let load = |name: &&str| format!("LoadModule {name}_module {MODULES}/mod_{name}.so\n");
        Self::start_with(place, &(modules.iter().map(load).collect::<String>() + lines))
    }

    fn start_with(place: Place, more: &str) -> Self {
        let php = std::fs::read_dir(MODULES).into_iter().flatten().flatten().map(|entry| entry.path()).find(
            |path| {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                name.starts_with("libphp") && name.ends_with(".so")
            },
        );
        let php = php.expect("mod_php; its packages come with: scripts/install-packages test");
        let identity = if is_root() { "User www-data\nGroup www-data\n" } else { "" };
        let configuration = format!(
            "ServerRoot @DIR@\nPidFile @DIR@/apache.pid\nErrorLog @DIR@/error.log\nServerName origin.test\nListen 127.0.0.1:@PORT@\n{identity}\
             LoadModule mpm_prefork_module {MODULES}/mod_mpm_prefork.so\nLoadModule authz_core_module {MODULES}/mod_authz_core.so\n\
             LoadModule mime_module {MODULES}/mod_mime.so\nLoadModule dir_module {MODULES}/mod_dir.so\nLoadModule php_module {}\n\
             TypesConfig /etc/mime.types\nStartServers 2\nMinSpareServers 1\nMaxSpareServers 4\nMaxRequestWorkers 8\n\
             KeepAlive On\nKeepAliveTimeout 30\nMaxKeepAliveRequests 0\nDocumentRoot @DIR@/html\nDirectoryIndex index.php\n\
             <FilesMatch \"\\.php$\">\nSetHandler application/x-httpd-php\n</FilesMatch>\n{more}",
            php.display()
        );
        place.write("apache.conf", place.fill(&configuration));
        let master = spawn(place.folder(), place.port);
        Self { port: place.port, place, master }
    }

    /// Kills Apache and its children at once, and waits until its port is closed.
    pub fn kill(&mut self) {
        signal_group(self.master.id(), Signal::KILL);
        let _ = self.master.wait();
        // Its children have the port open a moment longer.
        wait_for("the end of apache", || TcpStream::connect(("127.0.0.1", self.port)).is_err());
    }

    /// Kills Apache and starts it again on the same port.
    pub fn restart(&mut self) {
        self.kill();
        let _ = std::fs::remove_file(self.place.path("apache.pid"));
        self.master = spawn(self.place.folder(), self.port);
    }

    /// Suspends Apache: connections are accepted, but get no response.
    pub fn stall(&self) {
        signal_group(self.master.id(), Signal::STOP);
    }

    /// Resumes Apache after [`Apache::stall`].
    pub fn go_on(&self) {
        signal_group(self.master.id(), Signal::CONT);
    }
}

fn spawn(folder: &Path, port: u16) -> Child {
    let mut command = Command::new("/usr/sbin/apache2");
    command.arg("-DFOREGROUND").arg("-f").arg(folder.join("apache.conf")).process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut master = command.spawn().unwrap_or_else(|error| panic!("{}", missing("apache2", &error)));
    wait_for("apache", || {
        assert!(
            master.try_wait().expect("wait").is_none(),
            "apache ended; see error.log in {}",
            folder.display()
        );
        TcpStream::connect(("127.0.0.1", port)).is_ok()
    });
    master
}

impl Drop for Apache {
    fn drop(&mut self) {
        self.go_on();
        self.kill();
    }
}
