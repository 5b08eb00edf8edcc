//! Opening of the legacy GeoIP databases of a configuration.

use std::path::Path;
use std::sync::Arc;

use myriad_conf::Diagnostic;
use myriad_conf::model::HttpConf;
use myriad_conf::settings::Settings;
use parking_lot::Mutex;

use super::database::{GeoipContent, GeoipDatabase};
use super::settings::{DatabaseConf, GeoipSettings};
use crate::geo_database::client_address::TrustedProxies;
use crate::geo_database::file::read_whole;
use myriad_exchange::runtime::{PlaceFeatures, SettingsCompiler};

/// GeoIP databases of a configuration, shared by its locations.
pub(super) struct GeoipDatabases {
    pub(super) proxies: TrustedProxies,
    opened: Vec<(GeoipDatabase, bool)>,
    /// Errors of databases that could not be opened, until they have been reported.
    errors: Mutex<Vec<Diagnostic>>,
}

impl GeoipDatabases {
    fn open(http: &HttpConf) -> Self {
        let GeoipSettings { databases, proxies } = http.settings.feature();
        let (mut opened, mut errors) = (Vec::new(), Vec::new());
        for conf in databases {
            match open(conf) {
                Ok(database) => opened.push((database, conf.utf8)),
                Err(error) => errors.push(Diagnostic::error(conf.path.span, error).help(
                    "set the path of a legacy database (.dat) that the user of the workers can read; for .mmdb files use `geoip2`",
                )),
            }
        }
        Self { proxies: proxies.clone(), opened, errors: Mutex::new(errors) }
    }

    /// Returns the database with this content, and whether its texts are converted to UTF-8; `None` if it is not
    /// configured or could not be opened.
    pub(super) fn of(&self, content: GeoipContent) -> Option<(&GeoipDatabase, bool)> {
        let found = self.opened.iter().find(|(database, _)| database.content() == content);
        found.map(|(database, utf8)| (database, *utf8))
    }
}

fn open(conf: &DatabaseConf) -> Result<GeoipDatabase, String> {
    let path = conf.path.as_str().ok_or("the path is not valid UTF-8")?;
    let bytes = read_whole(Path::new(path))?;
    let database =
        GeoipDatabase::read(bytes).map_err(|error| format!("\"{path}\" is not a valid database: {error}"))?;
    if database.content() != conf.content {
        return Err(format!("\"{path}\" is a database of another type ({:?})", database.content()));
    }
    Ok(database)
}

/// Stores the databases for a level in `features`, if the configuration has any. Reports errors of opening them once.
pub(super) fn compile(
    compiler: &mut dyn SettingsCompiler,
    settings: &Settings,
    features: &mut PlaceFeatures,
) {
    if settings.feature::<GeoipSettings>().databases.is_empty() {
        return;
    }
    let databases = compiler.share(GeoipDatabases::open);
    for error in std::mem::take(&mut *databases.errors.lock()) {
        compiler.report(error);
    }
    features.insert::<Arc<GeoipDatabases>>(databases);
}
