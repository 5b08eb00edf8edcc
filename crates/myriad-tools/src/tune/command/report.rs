//! Output of a plan as text: facts, memory budget, and each change with its reason.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::Path;

use crate::tune::{ConfigFile, FileFormat, TuningPlan, changes};

use super::machine::DetectedMachine;
use super::sources::{overridden, present};

/// Maximum width of wrapped text, in columns.
const WIDTH: usize = 96;

/// Prints the facts, the memory budget of each program, the planned changes, and notes.
pub(super) fn print(root: &Path, found: &DetectedMachine, plan: &TuningPlan) -> Result<(), String> {
    let mut text = facts(found);
    budget(plan, &mut text);
    let mut remarks = plan.remarks.clone();
    let mut same = Vec::new();
    for file in &plan.files {
        if !file_changes(root, file, &mut text) {
            same.push(file.path.as_str());
        }
        if file.format == FileFormat::PhpIni && file.path.contains("/fpm/") {
            remarks.extend(overridden(root, file));
        }
    }
    if !same.is_empty() {
        text.push_str("\nAlready as planned:\n");
        for path in same {
            let _ = writeln!(text, "  {path}");
        }
    }
    if !remarks.is_empty() {
        text.push_str("\nNotes:\n");
        for remark in remarks {
            wrapped(&remark, "- ", "  ", &mut text);
        }
    }
    match io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(format!("standard output: {error}")),
        _ => Ok(()),
    }
}

fn facts(found: &DetectedMachine) -> String {
    let facts = &found.facts;
    let mut text = format!("{} MB of memory, {} cores", facts.memory >> 20, facts.cores);
    if let Some(php) = &facts.php {
        let pools = if php.pools.is_empty() { "no pool".to_owned() } else { php.pools.join(", ") };
        let _ = write!(text, "; php-fpm {} ({pools})", php.name());
    }
    if let Some(database) = &facts.database {
        let _ = write!(text, "; {}", database.name());
    }
    if let Some(server) = &facts.object_cache {
        let _ = write!(text, "; {}", server.service);
    }
    if let Some(apache) = facts.apache {
        let _ = write!(text, "; Apache ({:?}{})", apache.mpm, if apache.php { ", with PHP" } else { "" });
    }
    text.push('\n');
    if let (Some(site), Some(files)) = (&found.site, facts.site_files) {
        let _ = writeln!(text, "{}: {files} PHP files", site.display());
    }
    text
}

fn budget(plan: &TuningPlan, text: &mut String) {
    let budget = &plan.budget;
    let _ = writeln!(text, "\nMemory: {} MB can be used (three quarters)", budget.limit >> 20);
    for share in &budget.shares {
        let _ = writeln!(text, "{:>9} MB  {:<18} {}", share.bytes.div_ceil(1 << 20), share.name, share.how);
    }
    let _ = writeln!(text, "{:>9} MB  in total", budget.sum().div_ceil(1 << 20));
}

/// Appends the planned changes of a file to `text`. Returns `false` if all its settings already have their planned
/// values.
fn file_changes(root: &Path, file: &ConfigFile, text: &mut String) -> bool {
    let present = present(root, file);
    let changes = changes(file, &present);
    if changes.iter().all(crate::tune::SettingChange::is_made) {
        return false;
    }
    let _ = writeln!(text, "\n{}   ({})", file.path, file.program);
    let mut section = "";
    for change in &changes {
        if change.section != section {
            section = &change.section;
            let _ = writeln!(text, "  [{section}]");
        }
        let name = &change.name;
        if change.is_made() {
            let _ = writeln!(text, "    {name} = {}", change.planned);
            continue;
        }
        if let Some((value, place)) = &change.now {
            let place = place.rsplit('/').next().unwrap_or(place);
            let _ = writeln!(text, "  - {name} = {value}   ({place})");
        }
        let _ = writeln!(text, "  + {name} = {}", change.planned);
        wrapped(&change.why, "        ", "        ", text);
    }
    true
}

/// Appends a text, wrapped to [`WIDTH`] columns. `first` and `rest` are the indents of its first and further lines.
fn wrapped(line: &str, first: &str, rest: &str, text: &mut String) {
    let (mut column, mut lead) = (0, first);
    for word in line.split(' ') {
        if column > 0 && column + word.len() + 1 > WIDTH {
            text.push('\n');
            (column, lead) = (0, rest);
        }
        text.push_str(if column == 0 { lead } else { " " });
        column += word.len() + if column == 0 { lead.len() } else { 1 };
        text.push_str(word);
    }
    text.push('\n');
}
