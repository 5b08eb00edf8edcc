//! Iteration over the settings of all levels (`http`, servers, locations, `if`, `limit_except`).

use super::{HttpConf, IfBlock, LocationConf, RewriteStep, ServerConf};
use crate::settings::Settings;

impl HttpConf {
    /// Returns the settings of `http` itself, then those of every server, location, `if` and `limit_except` in it.
    pub fn levels(&self) -> Vec<&Settings> {
        let servers = self.servers.iter().flat_map(ServerConf::levels);
        std::iter::once(&self.settings).chain(servers).collect()
    }
}

impl ServerConf {
    /// Returns the settings of the server itself, then those of every location, `if` and `limit_except` in it.
    pub fn levels(&self) -> Vec<&Settings> {
        let mut levels = vec![&self.settings];
        of_steps(&self.rewrite, &mut levels);
        self.locations.iter().for_each(|location| of_location(location, &mut levels));
        levels
    }
}

fn of_location<'a>(location: &'a LocationConf, levels: &mut Vec<&'a Settings>) {
    levels.push(&location.settings);
    of_steps(&location.rewrite, levels);
    levels.extend(location.limit_except.as_ref().map(|limit| &limit.settings));
    location.locations.iter().for_each(|nested| of_location(nested, levels));
}

fn of_steps<'a>(steps: &'a [RewriteStep], levels: &mut Vec<&'a Settings>) {
    for step in steps {
        if let RewriteStep::If(block) = step {
            let IfBlock { settings, rewrite, .. } = block.as_ref();
            levels.push(settings);
            of_steps(rewrite, levels);
        }
    }
}
