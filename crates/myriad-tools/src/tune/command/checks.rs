//! Validation of the written files by the programs that read them.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::tune::{ConfigFile, FileFormat, TuningPlan};

use myriad_cli::machine_files::below;

/// Validates each planned file by the program that reads it, if the program has a command for that. Prints a line for
/// each checked file, and for each file that is not checked because its program cannot be started. Returns an error if
/// a program rejects a file.
pub(super) fn run(root: &Path, plan: &TuningPlan) -> Result<(), String> {
    println!();
    for file in &plan.files {
        let Some(mut command) = command(root, file) else { continue };
        let name = command.get_program().to_string_lossy().into_owned();
        let output = command.stdin(Stdio::null()).output();
        let Ok(output) = output else {
            println!("not checked: {}: {name} is not installed", file.path);
            continue;
        };
        let output_text =
            String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
        if let Some(complaint) = complaint(file, output.status.success(), &output_text) {
            return Err(format!("{}: {name} rejects it: {complaint}", file.path));
        }
        println!("checked: {} by {name}", file.path);
    }
    Ok(())
}

/// Returns a command that validates a file without any other effect; `None` if there is none for its format, or
/// for a file of Apache below another root.
fn command(root: &Path, file: &ConfigFile) -> Option<Command> {
    let path = below(root, &file.path);
    let mut command = match file.format {
        FileFormat::FpmPool => {
            let fpm = path.parent()?.parent()?;
            let version = fpm.parent()?.file_name()?.to_str()?;
            let mut command = Command::new(format!("/usr/sbin/php-fpm{version}"));
            command.arg("-t").arg("-y").arg(fpm.join("php-fpm.conf")).arg("-c").arg(fpm);
            command.env("PHP_INI_SCAN_DIR", fpm.join("conf.d"));
            command
        }
        FileFormat::MyCnf => {
            let server =
                if file.path.contains("mariadb") { "/usr/sbin/mariadbd" } else { "/usr/sbin/mysqld" };
            let mut command = Command::new(server);
            command.arg(format!("--defaults-file={}", path.display())).args(["--help", "--verbose"]);
            command
        }
        FileFormat::Apache if root == Path::new("/") => {
            let mut command = Command::new("/usr/sbin/apache2ctl");
            command.arg("configtest");
            command
        }
        _ => return None,
    };
    command.env("LC_ALL", "C");
    Some(command)
}

/// Returns the error that a program reports about a file; `None` if it accepts the file. `is_well` is true if the
/// program exited with status 0; `said` is its output.
fn complaint(file: &ConfigFile, is_well: bool, said: &str) -> Option<String> {
    let words: &[&str] = match file.format {
        // The database server accepts unknown variables that start with `loose`, and warns of values that it adjusts.
        FileFormat::MyCnf => &["unknown variable", "unknown option", "adjusted", "[ERROR]"],
        FileFormat::FpmPool => &["ALERT", "ERROR", "WARNING: [pool"],
        _ => &["Syntax error", "AH00180", "AH00513"],
    };
    let line = said.lines().find(|line| words.iter().any(|word| line.contains(word)));
    match line {
        Some(line) => Some(line.trim().to_owned()),
        None if is_well => None,
        None => Some(said.lines().last().unwrap_or("it exited with an error").to_owned()),
    }
}
