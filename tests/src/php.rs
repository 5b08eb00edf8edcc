//! Real php-fpm.

use std::env;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::process::{Signal, is_root, missing, signal_group};
use crate::{Place, wait_for};

/// php-fpm with its socket in the folder of a test; killed with its children on drop.
#[derive(Debug)]
pub struct Php {
    folder: PathBuf,
    master: Child,
}

impl Php {
    /// Starts php-fpm with four children, and sets `@PHP@` in the configurations of the test to the address of its
    /// socket.
    pub fn start(place: &mut Place) -> Self {
        Self::start_pool(place, "pm = static\npm.max_children = 4\n")
    }

    /// Starts php-fpm like [`Php::start`], with these lines for the process manager instead.
    pub fn start_pool(place: &mut Place, children: &str) -> Self {
        place.set("PHP", &format!("unix:{}/php.sock", place.folder().display()));
        let folder = place.folder().to_owned();
        place.write("php-fpm.conf", configuration(&folder, children));
        let master = spawn(&folder);
        Self { folder, master }
    }

    /// Kills php-fpm and starts it again on the same socket, with other lines for the process manager.
    pub fn restart_pool(&mut self, children: &str) {
        let file = self.folder.join("php-fpm.conf");
        std::fs::write(file, configuration(&self.folder, children)).expect("the configuration of php-fpm");
        self.restart();
    }

    /// Kills the master and its children at once, like `kill -9`; the socket file remains.
    pub fn kill(&mut self) {
        signal_group(self.master.id(), Signal::KILL);
        let _ = self.master.wait();
    }

    /// Kills php-fpm and starts it again on the same socket, with the same configuration.
    pub fn restart(&mut self) {
        self.kill();
        self.master = spawn(&self.folder);
    }
}

fn configuration(folder: &Path, children: &str) -> String {
    let identity = if is_root() { "user = www-data\ngroup = www-data\n" } else { "" };
    format!(
        "[global]\nerror_log = {0}/php.log\nlog_level = warning\n[test]\n{identity}listen = {0}/php.sock\n\
         listen.mode = 0666\nlisten.backlog = 1024\n{children}\
         php_value[upload_max_filesize] = 100M\nphp_value[post_max_size] = 100M\nphp_value[memory_limit] = 256M\n",
        folder.display()
    )
}

fn spawn(folder: &Path) -> Child {
    let socket = folder.join("php.sock");
    let _ = std::fs::remove_file(&socket);
    let program = program();
    let mut command = Command::new(&program);
    command.arg("--nodaemonize").arg("--fpm-config").arg(folder.join("php-fpm.conf"));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    let mut master =
        command.spawn().unwrap_or_else(|error| panic!("{}", missing(&program.display().to_string(), &error)));
    wait_for("php-fpm", || {
        assert!(
            master.try_wait().expect("wait").is_none(),
            "php-fpm ended; see php.log in {}",
            folder.display()
        );
        UnixStream::connect(&socket).is_ok()
    });
    master
}

/// Returns the last php-fpm of the machine in the order of paths, usually the newest: in Debian the program name
/// contains the version.
fn program() -> PathBuf {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = env::split_paths(&path).chain(["/usr/sbin".into(), "/usr/local/sbin".into()]);
    let programs = folders.flat_map(|folder| std::fs::read_dir(folder).into_iter().flatten().flatten());
    let programs = programs.map(|entry| entry.path());
    let is_fpm = |path: &PathBuf| {
        path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with("php-fpm"))
    };
    programs.filter(is_fpm).max().unwrap_or_else(|| "php-fpm".into())
}

impl Drop for Php {
    fn drop(&mut self) {
        self.kill();
    }
}
