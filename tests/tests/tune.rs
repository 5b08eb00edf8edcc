//! `myriad tune`: the real php-fpm, PHP, MariaDB, Apache and Redis accept its settings; undoing restores the previous
//! state.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use myriad_tests::{Place, binary, signal, wait_for};
use rustix::process::Signal;

/// Folders of the machine's configuration that a test copies.
const FOLDERS: [&str; 4] = ["etc/php", "etc/mysql", "etc/apache2", "etc/redis"];

/// Returns a root with a copy of this machine's configuration, in which the root replaces `/etc`.
fn root() -> Place {
    let place = Place::new();
    place.write("var/log/redis/empty", "");
    for folder in FOLDERS {
        copy(&Path::new("/").join(folder), &place.path(folder), place.folder());
    }
    place
}

fn copy(from: &Path, to: &Path, root: &Path) {
    fs::create_dir_all(to).expect("folder");
    for entry in fs::read_dir(from).unwrap_or_else(|error| panic!("{}: {error}", from.display())).flatten() {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        let Ok(known) = fs::metadata(&from) else { continue };
        if known.is_dir() {
            copy(&from, &to, root);
        } else {
            let text = String::from_utf8_lossy(&fs::read(&from).expect("file")).into_owned();
            let own = root.display();
            let text = ["/etc/php/", "/etc/mysql/", "/var/log/", "/run/"]
                .iter()
                .fold(text, |text, path| text.replace(path, &format!("{own}{path}")));
            fs::write(&to, text).expect("file");
            fs::set_permissions(&to, known.permissions()).expect("mode");
        }
    }
}

fn tune(place: &Place, arguments: &[&str]) -> Output {
    let mut command = Command::new(binary());
    command.arg("tune").arg("--root").arg(place.folder()).args(arguments);
    command.output().expect("myriad starts")
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn applied(place: &Place, arguments: &[&str]) -> String {
    let output = tune(place, &[&["--apply"], arguments].concat());
    assert!(output.status.success(), "{}", told(&output));
    told(&output)
}

/// Returns every file and folder below a root: bytes, mode, owner, modification time of files.
fn everything(folder: &Path) -> BTreeMap<PathBuf, (Vec<u8>, u32, u32, i64)> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("folder").flatten() {
            let (path, known) = (entry.path(), entry.metadata().expect("metadata"));
            let bytes = if known.is_dir() { Vec::new() } else { fs::read(&path).expect("file") };
            let time = if known.is_dir() { 0 } else { known.mtime_nsec() };
            if known.is_dir() {
                folders.push(path.clone());
            }
            found.insert(path, (bytes, known.mode(), known.uid(), time));
        }
    }
    found
}

/// Returns the output of a program, which must succeed.
fn said(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = told(&output);
    assert!(output.status.success(), "{command:?}\n{text}");
    text
}

/// Returns the version of the installed php-fpm: `8.2`.
fn version(place: &Place) -> String {
    let versions = fs::read_dir(place.path("etc/php")).expect("PHP").flatten();
    let versions = versions.filter(|entry| entry.path().join("fpm").is_dir());
    versions.filter_map(|entry| entry.file_name().into_string().ok()).max().expect("php-fpm")
}

#[test]
fn php_fpm_and_php_run_with_what_was_planned() {
    let place = root();
    let report = applied(&place, &["--memory", "4g", "--cores", "2", "--worker", "64m"]);
    let version = version(&place);
    let fpm = place.path(&format!("etc/php/{version}/fpm"));
    let mut command = Command::new(format!("/usr/sbin/php-fpm{version}"));
    command.arg("-tt").arg("-y").arg(fpm.join("php-fpm.conf")).arg("-c").arg(&fpm);
    let pools = said(command.env("PHP_INI_SCAN_DIR", fpm.join("conf.d")));
    for line in [
        "pm = dynamic",
        "pm.max_children = 16",
        "pm.start_servers = 4",
        "listen.backlog = 1024",
        "pm.status_path = /fpm-status",
        "rlimit_files = 65536",
    ] {
        assert!(pools.contains(line), "{line}\n{pools}");
    }
    assert!(!pools.contains("WARNING"), "{pools}");
    let mut command = Command::new("php");
    let script = "foreach (['upload_max_filesize', 'post_max_size', 'memory_limit', 'opcache.memory_consumption', 'opcache.jit', \
                  'opcache.interned_strings_buffer', 'opcache.max_accelerated_files', 'apc.shm_size'] as $name) { echo $name, '=', ini_get($name), \"\\n\"; }
                  $files = opcache_get_status(false)['opcache_statistics']['max_cached_keys']; echo \"keys=$files\\n\";";
    command.arg("-c").arg(fpm.join("php.ini")).args([
        "-d",
        "opcache.enable_cli=1",
        "-d",
        "apc.enable_cli=1",
        "-r",
        script,
    ]);
    let values = said(command.env("PHP_INI_SCAN_DIR", fpm.join("conf.d")));
    for line in [
        "upload_max_filesize=60M",
        "post_max_size=64M",
        "memory_limit=256M",
        "opcache.memory_consumption=176",
        "opcache.interned_strings_buffer=56",
        "opcache.jit=tracing",
        "keys=16229",
        "apc.shm_size=80M",
    ] {
        assert!(values.contains(line), "{line}\n{values}\n{report}");
    }
    assert!(!values.contains("Warning"), "{values}");
}

#[test]
fn mariadb_reads_what_was_planned_for_it() {
    let place = root();
    applied(&place, &["--memory", "8g", "--cores", "4", "--worker", "64m", "--database", "mariadb-10.11"]);
    let mut command = Command::new("/usr/sbin/mariadbd");
    command
        .arg(format!("--defaults-file={}", place.path("etc/mysql/my.cnf").display()))
        .args(["--verbose", "--help"]);
    let values = said(&mut command);
    let value = |name: &str| {
        let line = values.lines().find(|line| line.split_whitespace().next() == Some(name));
        line.and_then(|line| line.split_whitespace().last()).unwrap_or_else(|| panic!("{name}")).to_owned()
    };
    assert_eq!(value("innodb-buffer-pool-size"), (1536_u64 << 20).to_string());
    assert_eq!(value("max-connections"), "60");
    assert_eq!(value("query-cache-size"), "0");
    assert_eq!(value("tmp-memory-table-size"), (32_u64 << 20).to_string());
    let complaints: Vec<_> = values
        .lines()
        .filter(|line| {
            line.contains("unknown variable") || line.contains("[ERROR]") || line.contains("is deprecated")
        })
        .collect();
    assert!(complaints.is_empty(), "{complaints:?}");
}

#[test]
fn apache_takes_workers_of_each_kind() {
    let place = root();
    let enabled = place.path("etc/apache2/mods-enabled");
    for mpm in ["prefork", "event", "worker"] {
        for entry in fs::read_dir(&enabled).expect("modules").flatten() {
            let name = entry.file_name().into_string().expect("a name");
            if name.starts_with("mpm_") || name.starts_with("php") {
                fs::remove_file(entry.path()).expect("removed");
            }
        }
        for end in ["load", "conf"] {
            let name = format!("mpm_{mpm}.{end}");
            fs::copy(place.path(&format!("etc/apache2/mods-available/{name}")), enabled.join(name))
                .expect("module");
        }
        applied(&place, &["--memory", "2g", "--cores", "2"]);
        let mut command = Command::new("/usr/sbin/apache2");
        command.args(["-t", "-d"]).arg(place.path("etc/apache2"));
        for (name, value) in [
            ("APACHE_RUN_USER", "www-data"),
            ("APACHE_RUN_GROUP", "www-data"),
            ("APACHE_PID_FILE", "@/apache.pid"),
            ("APACHE_RUN_DIR", "@"),
            ("APACHE_LOCK_DIR", "@"),
            ("APACHE_LOG_DIR", "@"),
        ] {
            command.env(name, value.replace('@', &place.folder().display().to_string()));
        }
        let text = said(&mut command);
        assert!(text.contains("Syntax OK"), "{mpm}: {text}");
        // Apache reports values that it corrects by number.
        assert!(
            !["AH00180", "AH00181", "AH00182", "AH00183", "AH00513"].iter().any(|code| text.contains(code)),
            "{mpm}: {text}"
        );
    }
}

#[test]
fn redis_runs_with_the_bound_that_was_planned() {
    let place = root();
    applied(&place, &["--memory", "4g", "--cores", "2"]);
    let unit = place.read("etc/systemd/system/redis-server.service.d/99-myriad.conf");
    let line =
        unit.lines().filter_map(|line| line.strip_prefix("ExecStart=")).next_back().expect("a command");
    assert!(unit.contains("ExecStart=\n"), "the package's command is taken back first: {unit}");
    // The command of the unit, with a socket of the test.
    let words = line.replace("/etc/redis/", &format!("{}/etc/redis/", place.folder().display()));
    let mut words = words.split_whitespace();
    let mut command = Command::new(words.next().expect("a program"));
    let socket = place.path("redis.sock");
    command.args(words).args([
        "--supervised",
        "no",
        "--port",
        "0",
        "--save",
        "",
        "--pidfile",
        "",
        "--logfile",
        "",
    ]);
    command.arg("--dir").arg(place.folder()).arg("--unixsocket").arg(&socket);
    let mut server = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().expect("redis-server");
    wait_for("redis-server", || UnixStream::connect(&socket).is_ok());
    let mut stream = UnixStream::connect(&socket).expect("socket");
    stream.write_all(b"CONFIG GET maxmemory*\r\nQUIT\r\n").expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    signal(server.id(), Signal::TERM);
    server.wait().expect("ended");
    assert!(answer.contains(&(128_u64 << 20).to_string()) && answer.contains("allkeys-lru"), "{answer}");
}

#[test]
fn kernel_knows_each_name_that_is_written_for_it() {
    let place = root();
    applied(&place, &["--memory", "4g", "--cores", "2"]);
    let text = place.read("etc/sysctl.d/99-myriad.conf");
    let names: Vec<_> = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once(" = "))
        .collect();
    assert!(names.len() >= 6, "{text}");
    for (name, value) in names {
        assert!(Path::new("/proc/sys").join(name.replace('.', "/")).is_file(), "{name}");
        assert!(value.bytes().all(|byte| byte.is_ascii_digit()), "{name} = {value}");
    }
}

#[test]
fn undo_puts_everything_back_as_it_was() {
    let place = root();
    let version = version(&place);
    let ini = format!("etc/php/{version}/fpm/conf.d/99-myriad.ini");
    place.write(&ini, "; an administrator's own\nmemory_limit = 99M\n");
    fs::set_permissions(place.path(&ini), fs::Permissions::from_mode(0o640)).expect("mode");
    let var = |path: &Path| path.starts_with(place.path("var"));
    let before: BTreeMap<_, _> =
        everything(place.folder()).into_iter().filter(|(path, _)| !var(path)).collect();
    applied(&place, &["--memory", "4g"]);
    // Applied again with other figures: the state before the first run is preserved.
    applied(&place, &["--memory", "16g"]);
    assert!(place.read(&ini).contains("memory_limit = 512M"));
    assert!(place.path("etc/sysctl.d/99-myriad.conf").is_file());
    let again = tune(&place, &["--memory", "16g"]);
    assert!(told(&again).contains("Already as planned"), "{}", told(&again));
    let undone = tune(&place, &["--undo"]);
    assert!(undone.status.success(), "{}", told(&undone));
    let after = everything(place.folder());
    let after: BTreeMap<_, _> = after.into_iter().filter(|(path, _)| !var(path)).collect();
    assert_eq!(before.keys().collect::<Vec<_>>(), after.keys().collect::<Vec<_>>());
    assert!(before == after, "bytes, modes, owners or times differ");
    assert!(!place.path("var/lib/myriad/tune.json").exists());
    let nothing = tune(&place, &["--undo"]);
    assert!(nothing.status.success() && told(&nothing).contains("Nothing to undo"));
}

#[test]
fn file_that_somebody_has_changed_is_left_by_undo() {
    let place = root();
    applied(&place, &["--memory", "4g"]);
    let sysctl = "etc/sysctl.d/99-myriad.conf";
    place.write(sysctl, "vm.swappiness = 42\n");
    let undone = tune(&place, &["--undo"]);
    assert_eq!(undone.status.code(), Some(1), "{}", told(&undone));
    assert!(told(&undone).contains("was changed since --apply"), "{}", told(&undone));
    assert_eq!(place.read(sysctl), "vm.swappiness = 42\n");
    assert!(!place.path("etc/security/limits.d/99-myriad.conf").exists());
    let forced = tune(&place, &["--undo", "--force"]);
    assert!(forced.status.success() && !place.path("etc/sysctl.d").exists(), "{}", told(&forced));
}

#[test]
fn nothing_is_changed_where_one_file_cannot_be_written_or_is_refused() {
    let place = root();
    let without_var = |all: BTreeMap<PathBuf, _>| -> BTreeMap<PathBuf, _> {
        all.into_iter().filter(|(path, _)| !path.starts_with(place.path("var"))).collect()
    };
    place.write("etc/sysctl.d", "a file where a folder should be");
    let before = without_var(everything(place.folder()));
    let refused = tune(&place, &["--apply", "--memory", "4g"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(told(&refused).contains("/etc/sysctl.d/99-myriad.conf"), "{}", told(&refused));
    assert!(without_var(everything(place.folder())) == before);
    fs::remove_file(place.path("etc/sysctl.d")).expect("removed");
    // A pool that php-fpm rejects.
    let pools = format!("etc/php/{}/fpm/pool.d/aaa.conf", version(&place));
    place.write(&pools, "[aaa]\nlisten = /nowhere.sock\npm = sometimes\n");
    let before = everything(place.folder());
    let refused = tune(&place, &["--apply", "--memory", "4g"]);
    let text = told(&refused);
    assert!(text.contains("rejects it") && text.contains("Nothing was changed"), "{text}");
    let after = without_var(everything(place.folder()));
    assert!(after == without_var(before));
}

#[test]
fn report_shows_what_holds_and_why_it_should_not() {
    let place = root();
    let version = version(&place);
    place.write(
        &format!("etc/php/{version}/fpm/pool.d/www.conf"),
        "[www]\nlisten = 9000\npm = static\npm.max_children = 5\nphp_value[memory_limit] = 64M\n",
    );
    let report = told(&tune(&place, &["--memory", "2g", "--cores", "1", "--worker", "64m"]));
    for part in [
        "- pm.max_children = 5   (www.conf)",
        "+ pm.max_children = 8",
        "eight per core",
        "1536 MB can be used",
        "www.conf sets php_value[memory_limit] = 64M",
    ] {
        assert!(report.contains(part), "{part}\n{report}");
    }
}
