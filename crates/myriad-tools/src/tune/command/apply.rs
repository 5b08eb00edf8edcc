//! `--apply` and `--undo`.

use std::fs;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use crate::tune::{ConfigFile, TuningPlan};

use super::checks;
use super::record::{OriginalFile, PLACE, RecordedFile, TuneRecord, hash};
use myriad_cli::machine_files::{self, below};
use myriad_cli::pidfile::reason;

/// Writes the configuration files of a plan. If a file cannot be written, or its program rejects it, restores all
/// previous files and returns an error text.
pub(super) fn apply(root: &Path, plan: &TuningPlan) -> Result<ExitCode, String> {
    let mut record = TuneRecord::read(root)?;
    let replaced = plan
        .files
        .iter()
        .map(|file| OriginalFile::of(&below(root, &file.path)).map_err(|error| write_error(file, &error)));
    let replaced = replaced.collect::<Result<Vec<_>, _>>()?;
    for (file, before) in plan.files.iter().zip(&replaced) {
        record_file(root, &mut record, file, before.as_ref());
    }
    record.write(root).map_err(|error| {
        format!("{}: {}; run the command as root", below(root, PLACE).display(), reason(&error))
    })?;
    let written =
        plan.files.iter().try_for_each(|file| write(root, file).map_err(|error| write_error(file, &error)));
    if let Err(error) = written.and_then(|()| checks::run(root, plan)) {
        revert(root, plan, replaced, record);
        return Err(format!("{error}\nNothing was changed."));
    }
    println!("\nThe files are written. To activate them:");
    let mut printed: Vec<&str> = Vec::new();
    for file in &plan.files {
        if !printed.contains(&file.activate.as_str()) {
            printed.push(&file.activate);
            println!("  {}", file.activate);
        }
    }
    println!("To revert: myriad tune --undo{}", root_option(root));
    Ok(ExitCode::SUCCESS)
}

/// Adds the file that is replaced, and its missing folders, to the record. If an earlier `--apply` has recorded the
/// original, only the hash of the new contents is recorded.
fn record_file(root: &Path, record: &mut TuneRecord, file: &ConfigFile, before: Option<&OriginalFile>) {
    let written = hash(file.text().as_bytes());
    if let Some(entry) = record.entry(&file.path) {
        entry.written = written;
        return;
    }
    let mut missing = Vec::new();
    for folder in Path::new(&file.path).ancestors().skip(1) {
        let path = folder.display().to_string();
        if below(root, &path).exists() || record.folders.contains(&path) {
            break;
        }
        missing.push(path);
    }
    record.folders.extend(missing.into_iter().rev());
    record.files.push(RecordedFile { path: file.path.clone(), before: before.cloned(), written });
}

fn write(root: &Path, file: &ConfigFile) -> io::Result<()> {
    machine_files::write(root, &file.path, file.text().as_bytes(), 0o644)
}

/// Restores the configuration files as they were before this `--apply`: originals, or files of an earlier `--apply`.
/// The record is updated, or removed if it lists no files any more. Errors are ignored.
fn revert(root: &Path, plan: &TuningPlan, replaced: Vec<Option<OriginalFile>>, mut record: TuneRecord) {
    for (file, before) in plan.files.iter().zip(replaced) {
        let path = below(root, &file.path);
        let Some(before) = before else {
            let _ = fs::remove_file(&path);
            record.files.retain(|entry| entry.path != file.path);
            continue;
        };
        let _ = before.restore(&path);
        let now = fs::read(&path).map(|bytes| hash(&bytes)).unwrap_or_default();
        if let Some(entry) = record.entry(&file.path) {
            entry.written = now;
        }
    }
    if record.files.is_empty() {
        remove_folders(root, &record.folders);
        let _ = TuneRecord::forget(root);
    } else {
        let _ = record.write(root);
    }
}

fn remove_folders(root: &Path, folders: &[String]) {
    for folder in folders.iter().rev() {
        // Fails if the folder contains other files; it then remains.
        let _ = fs::remove_dir(below(root, folder));
    }
}

/// Restores the configuration files as they were before the first `--apply`. Files that were changed since are retained
/// unless `force` is true. The exit status is 1 if a file was not restored.
pub(super) fn undo(root: &Path, force: bool) -> Result<ExitCode, String> {
    let mut record = TuneRecord::read(root)?;
    if record.files.is_empty() {
        println!("Nothing to undo: {} does not exist, so nothing was applied.", below(root, PLACE).display());
        return Ok(ExitCode::SUCCESS);
    }
    let mut left = Vec::new();
    for entry in record.files {
        let path = below(root, &entry.path);
        let now = fs::read(&path).ok();
        if now.as_ref().is_some_and(|now| hash(now) != entry.written) && !force {
            println!(
                "not restored: {}, which was changed since --apply (use --force to restore it)",
                path.display()
            );
            left.push(entry);
            continue;
        }
        let (undone, what) = match &entry.before {
            Some(before) => (before.restore(&path), "restored"),
            None if now.is_none() => (Ok(()), "already removed"),
            None => (fs::remove_file(&path), "removed"),
        };
        match undone {
            Ok(()) => println!("{what}: {}", path.display()),
            Err(error) => {
                println!("not restored: {}: {}; run the command as root", path.display(), reason(&error));
                left.push(entry);
            }
        }
    }
    remove_folders(root, &record.folders);
    if left.is_empty() {
        TuneRecord::forget(root)
            .map_err(|error| format!("{}: {}", below(root, PLACE).display(), reason(&error)))?;
        println!(
            "Restart or reload the programs, as after --apply. `myriad tune` shows the current settings."
        );
        return Ok(ExitCode::SUCCESS);
    }
    record.files = left;
    record.write(root).map_err(|error| {
        format!("{}: {}; run the command as root", below(root, PLACE).display(), reason(&error))
    })?;
    Ok(ExitCode::FAILURE)
}

fn write_error(file: &ConfigFile, error: &io::Error) -> String {
    let remedy =
        if error.kind() == io::ErrorKind::PermissionDenied { "; run the command as root" } else { "" };
    format!("{}: {}{remedy}", file.path, reason(error))
}

/// Returns the `--root` option for a command in a message; empty for `/`.
fn root_option(root: &Path) -> String {
    if root == Path::new("/") { String::new() } else { format!(" --root {}", root.display()) }
}
