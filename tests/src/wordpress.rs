//! Real WordPress with sixty posts, created by `scripts/site`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::process::run;
use crate::{Place, Server, Visitor, binary, workspace};

/// Running site: its files, its MariaDB, its php-fpm. Stopped and removed when its last handle is dropped.
#[derive(Debug)]
pub struct WordPress {
    place: Place,
    /// Locked during a login of the administrator.
    login: Mutex<()>,
}

impl WordPress {
    /// Returns the site that the tests of one program share; a test that changes it must use its own pages.
    pub fn shared() -> Arc<Self> {
        static SHARED: Mutex<Weak<WordPress>> = Mutex::new(Weak::new());
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        shared.upgrade().unwrap_or_else(|| {
            let site = Arc::new(Self::create());
            *shared = Arc::downgrade(&site);
            site
        })
    }

    /// Creates a site for one test.
    pub fn alone() -> Self {
        Self::create()
    }

    fn create() -> Self {
        let site = Self { place: Place::new(), login: Mutex::new(()) };
        site.script("create");
        // WordPress accepts one comment per fifteen seconds and address, and tests run concurrently.
        let text = "<?php add_filter('wp_is_comment_flood', '__return_false', 99);";
        site.write("wp-content/mu-plugins/quick-comments.php", text);
        site.script("start");
        site
    }

    fn script(&self, verb: &str) {
        let mut command = Command::new(workspace().join("scripts/site"));
        command.env("MYRIAD_SITE_CACHE", workspace().join("target/site-cache"));
        run(command.arg(verb).arg(self.folder()), &format!("scripts/site {verb}"));
    }

    fn folder(&self) -> PathBuf {
        self.place.path("site")
    }

    /// Returns the path of the document root.
    pub fn root(&self) -> PathBuf {
        self.folder().join("wordpress")
    }

    /// Returns the path of php-fpm's Unix socket.
    pub fn php(&self) -> PathBuf {
        self.folder().join("run/php.sock")
    }

    /// Writes a file below the document root, and creates missing folders of its path. If the file exists, it is
    /// replaced atomically: other tests of a shared site may request it at this moment, and an empty script has an
    /// empty, cacheable response.
    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        replace(&self.root().join(name), &self.folder(), bytes.as_ref());
    }

    /// Logs in as the administrator with the form, like a browser; returns the client.
    pub fn log_in(&self, server: &Server) -> Visitor {
        let mut visitor = Visitor::new(server.port);
        self.submit_login(|name, password| {
            assert_eq!(visitor.get("/wp-login.php").status, 200);
            assert!(visitor.has_cookie("wordpress_test_cookie"));
            let form = [
                ("log", name),
                ("pwd", password),
                ("wp-submit", "Log In"),
                ("testcookie", "1"),
                ("redirect_to", "/wp-admin/"),
            ];
            let answer = visitor.post("/wp-login.php", &form);
            assert_eq!(answer.status, 302, "{}", answer.text());
        });
        assert!(visitor.has_cookie("wordpress_logged_in_"));
        visitor
    }

    /// Calls a function that logs in with the name and the password of the administrator. Calls are serialized:
    /// WordPress stores all sessions of a user in one value, which it reads and writes without a lock, so that of two
    /// concurrent logins one can lose its session.
    pub fn submit_login<T>(&self, log_in: impl FnOnce(&str, &str) -> T) -> T {
        let _login = self.login.lock().unwrap_or_else(PoisonError::into_inner);
        let (name, password) = self.administrator();
        log_in(&name, &password)
    }

    /// Returns name and password of the administrator.
    fn administrator(&self) -> (String, String) {
        let secrets = self.place.read("site/site.env");
        let value = |name: &str| {
            let line = secrets.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
            line.expect(name).to_owned()
        };
        (value("ADMIN_USER"), value("ADMIN_PASSWORD"))
    }

    /// Returns the process id of `php` or `db`.
    pub fn pid(&self, name: &str) -> u32 {
        self.place.read(&format!("site/run/{name}.pid")).trim().parse().expect("a process")
    }

    /// Kills MariaDB.
    pub fn kill_database(&self) {
        crate::signal(self.pid("db"), rustix::process::Signal::KILL);
    }

    /// Starts the processes of the site that were killed.
    pub fn start_again(&self) {
        self.script("start");
    }

    /// Returns the number of requests that PHP has answered.
    pub fn php_requests(&self) -> usize {
        self.place.read("site/log/php-access.log").lines().count()
    }

    /// Returns the error log of PHP.
    pub fn php_log(&self) -> String {
        self.place.read("site/log/php.log")
    }

    /// Converts the site to a network whose further sites are folders (`/second/`).
    pub fn make_network(&self, host: &str) {
        self.make_network_of(host, false);
    }

    /// Converts the site to a network whose further sites are folders, or host names if `has_names` is set.
    pub fn make_network_of(&self, host: &str, has_names: bool) {
        let code = "require ABSPATH . 'wp-admin/includes/upgrade.php'; require ABSPATH . 'wp-admin/includes/network.php'; \
                    define('WP_INSTALLING_NETWORK', true); \
                    foreach ($wpdb->tables('ms_global') as $table => $name) $wpdb->$table = $name; install_network(); \
                    $told = populate_network(1, '@HOST@', 'admin@example.org', 'A network', '/', @NAMES@); \
                    echo is_wp_error($told) && 'no_wildcard_dns' !== $told->get_error_code() ? $told->get_error_message() : 'made';";
        let code = code.replace("@HOST@", host).replace("@NAMES@", &has_names.to_string());
        let code = format!("global $wpdb; {code}");
        assert_eq!(self.run_php(host, &code), "made");
        let file = self.root().join("wp-config.php");
        let text = std::fs::read_to_string(&file).expect("wp-config.php");
        let constants = format!(
            "define('MULTISITE', true);\ndefine('SUBDOMAIN_INSTALL', {has_names});\ndefine('DOMAIN_CURRENT_SITE', '{host}');\n\
             define('PATH_CURRENT_SITE', '/');\ndefine('SITE_ID_CURRENT_SITE', 1);\ndefine('BLOG_ID_CURRENT_SITE', 1);\n"
        );
        std::fs::write(
            &file,
            text.replace("require_once ABSPATH", &format!("{constants}require_once ABSPATH")),
        )
        .expect("wp-config.php");
    }

    /// Starts `myriad wordpress` in front of the site.
    pub fn serve(&self) -> Server {
        self.serve_with_php(Place::new(), &self.php().display().to_string())
    }

    /// Starts a server like [`WordPress::serve`], with further options.
    pub fn serve_with(&self, options: &[&str]) -> Server {
        self.serve_in(Place::new(), options)
    }

    /// Starts a server like [`WordPress::serve_with`], whose prefix is the folder of `place`.
    pub fn serve_in(&self, place: Place, options: &[&str]) -> Server {
        let mut command = self.command(&place, &self.php().display().to_string());
        command.args(options);
        Server::run(place, command)
    }

    /// Starts a server like [`WordPress::serve`], with the plugin installed as a must-use plugin.
    pub fn serve_with_plugin(&self) -> Server {
        let place = Place::new();
        self.install_plugin(&place);
        self.serve_with_php(place, &self.php().display().to_string())
    }

    /// Installs the plugin as a must-use plugin, for servers whose prefix is the folder of `place`.
    pub fn install_plugin(&self, place: &Place) {
        let mut command = self.command(place, &self.php().display().to_string());
        run(command.args(["--install-plugin", "--must-use"]), "--install-plugin");
    }

    /// Starts a server like [`WordPress::serve_with_plugin`], with the preset that `change` returns for the original
    /// preset.
    pub fn serve_plugin_changed(&self, change: impl FnOnce(String) -> String) -> Server {
        self.serve_plugin_set(&[], change)
    }

    /// Starts a server like [`WordPress::serve_plugin_changed`], with further settings (`NAME=VALUE`).
    pub fn serve_plugin_set(&self, settings: &[&str], change: impl FnOnce(String) -> String) -> Server {
        let place = Place::new();
        self.install_plugin(&place);
        self.serve_changed_set(place, &self.php().display().to_string(), settings, change)
    }

    /// Runs PHP code in WordPress from the command line as the administrator; returns its output, and panics if it
    /// fails.
    pub fn run_php(&self, host: &str, code: &str) -> String {
        self.run_php_after(host, "", code)
    }

    /// Runs PHP code like [`WordPress::run_php`], after code that runs before WordPress is loaded.
    pub fn run_php_after(&self, host: &str, before: &str, code: &str) -> String {
        let root = self.root().display().to_string();
        let script = format!(
            "$_SERVER += ['HTTP_HOST' => '{host}', 'REQUEST_METHOD' => 'GET', 'REQUEST_URI' => '/', 'SERVER_NAME' => 'localhost', \
             'SERVER_PROTOCOL' => 'HTTP/1.1', 'REMOTE_ADDR' => '127.0.0.1']; {before} require '{root}/wp-load.php'; \
             wp_set_current_user(1); {code}"
        );
        let output = Command::new("php").args(["-r", &script]).output().expect("php starts");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{code}\n{said}\n{}", String::from_utf8_lossy(&output.stderr));
        said
    }

    /// Starts a server like [`WordPress::serve_with`], with the plugin installed as an ordinary plugin.
    pub fn serve_with_ordinary_plugin(&self, options: &[&str]) -> Server {
        let place = Place::new();
        let php = self.php().display().to_string();
        run(self.command(&place, &php).arg("--install-plugin"), "--install-plugin");
        let mut command = self.command(&place, &php);
        command.args(options);
        Server::run(place, command)
    }

    fn serve_with_php(&self, place: Place, php: &str) -> Server {
        let command = self.command(&place, php);
        Server::run(place, command)
    }

    /// Starts a server with the output of `--print` after a change, in front of the php-fpm at this address.
    pub fn serve_changed(&self, place: Place, php: &str, change: impl FnOnce(String) -> String) -> Server {
        self.serve_changed_set(place, php, &[], change)
    }

    fn serve_changed_set(
        &self,
        place: Place,
        php: &str,
        settings: &[&str],
        change: impl FnOnce(String) -> String,
    ) -> Server {
        let mut print = self.command(&place, php);
        print.args(settings.iter().flat_map(|setting| ["--set", setting])).arg("--print");
        let printed = print.output().expect("myriad starts");
        let preset = String::from_utf8(printed.stdout).expect("text");
        place.write("myriad.conf", change(preset));
        let mut command = Command::new(binary());
        command.arg("-p").arg(place.folder()).args(["-c", "myriad.conf", "-e", "error.log", "-g"]);
        command.arg(place.fill("error_log @DIR@/error.log;"));
        Server::run(place, command)
    }

    fn command(&self, place: &Place, php: &str) -> Command {
        let mut command = Command::new(binary());
        command.args(["wordpress", "--php", php, "--root"]).arg(self.root());
        command.arg("--prefix").arg(place.folder()).args(["--listen", &format!("127.0.0.1:{}", place.port)]);
        // Pages do not expire during a test, however slow the machine is: only purges change them.
        command.args(["--set", "adaptive=off", "--set", "validity=1d"]);
        command
    }
}

impl Drop for WordPress {
    fn drop(&mut self) {
        let mut command = Command::new(workspace().join("scripts/site"));
        let _ = command.arg("stop").arg(self.folder()).output();
    }
}

/// Replaces a file atomically. The new contents are first written to a file in `staging`, a folder of the same file
/// system.
fn replace(path: &Path, staging: &Path, bytes: &[u8]) {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let staged = staging.join(format!("staged-{}", COUNT.fetch_add(1, Ordering::Relaxed)));
    std::fs::create_dir_all(path.parent().expect("a file in a folder")).expect("folders");
    std::fs::write(&staged, bytes).expect("a staged file");
    std::fs::rename(&staged, path).expect("a replaced file");
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::atomic::AtomicBool;

    use super::*;

    #[test]
    fn replaced_file_is_never_read_empty() {
        let place = Place::new();
        let file = place.path("html/scripts/index.php");
        replace(&file, place.folder(), b"<?php");
        let is_done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_done.load(Ordering::Relaxed) {
                    replace(&file, place.folder(), b"<?php");
                }
            });
            let is_whole = (0..2000).all(|_| fs::read(&file).is_ok_and(|bytes| bytes == b"<?php"));
            is_done.store(true, Ordering::Relaxed);
            assert!(is_whole, "the file was read while it was written");
        });
        let names =
            fs::read_dir(place.folder()).expect("folder").map(|entry| entry.expect("entry").file_name());
        assert!(
            !names.into_iter().any(|name| name.to_string_lossy().starts_with("staged")),
            "a staged file remains"
        );
    }
}
