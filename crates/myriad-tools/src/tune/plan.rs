//! The plan: memory budget, files, and remarks.

use crate::tune::amount::about;
use crate::tune::budget::budget;
use crate::tune::facts::{MachineFacts, WorkerSizeSource};
use crate::tune::file::ConfigFile;
use crate::tune::shares::MemoryBudget;
use crate::tune::{apache, database, kernel, object_cache, php};

/// Planned settings of all programs on a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TuningPlan {
    /// Memory budget of the programs.
    pub budget: MemoryBudget,
    /// Configuration files to write.
    pub files: Vec<ConfigFile>,
    /// Additional information for the user, as sentences.
    pub remarks: Vec<String>,
}

impl TuningPlan {
    /// Returns the file at a path; `None` if the plan does not contain it.
    pub fn file(&self, path: &str) -> Option<&ConfigFile> {
        self.files.iter().find(|file| file.path == path)
    }
}

/// Creates the plan for a machine.
pub fn plan(facts: &MachineFacts) -> TuningPlan {
    let budget = budget(facts);
    let mut files = php::files(facts, &budget);
    if let Some(database) = &facts.database {
        files.push(database::file(facts, database, &budget));
    }
    if let Some(server) = &facts.object_cache {
        files.extend(object_cache::files(server, &budget));
    }
    if let Some(apache) = facts.apache {
        files.push(apache::file(apache, &budget));
    }
    files.extend(kernel::files(facts));
    let remarks = remarks(facts, &budget);
    TuningPlan { budget, files, remarks }
}

fn remarks(facts: &MachineFacts, budget: &MemoryBudget) -> Vec<String> {
    let mut remarks = Vec::new();
    if !budget.fits() {
        remarks.push(format!(
            "{} of memory is not enough: all programs together need {}, and {} can be used. Move the database to another \
                 machine, use fewer plugins, or use a larger machine",
            about(facts.memory),
            about(budget.sum()),
            about(budget.limit)
        ));
    } else if budget.children == 1 {
        remarks.push(
            "the memory is sufficient for only one PHP child: when WordPress sends a request to itself, it waits until that \
                 request times out"
                .to_owned(),
        );
    }
    if facts.php.is_none() {
        remarks.push("no php-fpm was found: nothing is planned for PHP".to_owned());
    } else {
        match facts.worker.source {
            WorkerSizeSource::Assumed => remarks.push(
                "no running PHP worker could be measured: run the command again while the site has traffic, or use --worker 60m".to_owned(),
            ),
            WorkerSizeSource::AssumedForRoot => remarks.push(
                "PHP workers of another system cannot be measured: specify their memory with --worker 60m".to_owned(),
            ),
            WorkerSizeSource::Option | WorkerSizeSource::Measured(_) => {}
        }
    }
    if facts.database.is_none() && !facts.excludes_database {
        remarks.push("no database was found on this machine: nothing is planned for a database".to_owned());
    }
    if php::uploads(facts).is_less_than_body {
        remarks.push(format!(
            "Myriad accepts request bodies up to {}, but PHP only up to {}: set client_max_body_size {}m",
            about(facts.body),
            about(php::uploads(facts).post),
            php::uploads(facts).post >> 20
        ));
    }
    remarks
}
