//! Which server a command means: that of a configuration file, or a `myriad wordpress` or `myriad php`.
//!
//! ```text
//! -c, -p or -g ----------------------------------------> as they say
//! nothing, no configuration installed -----------------> the preset on its default folder
//! nothing, a configuration installed, its server runs -> the configuration
//!                     it does not, but a preset does ---> the preset, as under myriad-wordpress.service
//! ```

use std::path::PathBuf;

use crate::admin::socket;
use crate::cli::Options;
use crate::configuration::{self, Origin};
use crate::instance::holder;
use crate::paths::Paths;
use crate::wordpress;

/// Server that a command line names, be it that it does not say which.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Named {
    Configuration(Paths),
    /// A preset, by its prefix.
    Preset(PathBuf),
}

impl Named {
    pub(crate) fn of(server: &Options) -> Self {
        let paths = Paths::new(server);
        if server.configuration.is_some() {
            return Self::Configuration(paths);
        }
        let is_there = paths.configuration.exists();
        match &server.prefix {
            Some(_) if is_there => Self::Configuration(paths),
            Some(_) => Self::Preset(paths.prefix),
            None if !is_there => Self::Preset(wordpress::prefix(None)),
            None if server.directives.is_some() || serves(&paths) => Self::Configuration(paths),
            None => running_preset().map_or(Self::Configuration(paths), Self::Preset),
        }
    }
}

/// Whether somebody listens on the control socket of a configuration.
fn serves(paths: &Paths) -> bool {
    let origin = Origin { paths: paths.clone(), directives: Vec::new(), preset: None };
    let Ok(model) = configuration::read_main(&origin) else { return false };
    socket::path(&model, paths).is_some_and(|(path, _)| socket::reach(&path).is_ok())
}

/// Prefix of the preset that runs: this user's, else the system's.
fn running_preset() -> Option<PathBuf> {
    let own = wordpress::prefix(None);
    if matches!(holder(&own), Ok(Some(_))) {
        return Some(own);
    }
    // Who may not look at the system's is told so when its socket refuses him.
    let of_system = wordpress::prefix_of_system();
    let is_there = socket::beside(&wordpress::pid_file(Some(of_system))).exists();
    (own != of_system && is_there).then(|| of_system.to_owned())
}
