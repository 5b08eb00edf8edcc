//! Opening of the databases, and the inputs of their variables.

use std::sync::Arc;

use myriad_conf::Diagnostic;
use myriad_exchange::feature::{TableMaking, TableVariable};
use myriad_script::Table;

use super::database::{Database, Path, append};
use super::settings::{DatabaseConf, Geoip2Settings, Metadata, Shown, VariableConf};
use crate::geo_database::file::DatabaseFile;
use crate::geo_database::visitor::Proxies;

/// Value of a variable and its database; the database is `None` if it could not be opened, and then the configuration
/// is rejected.
#[derive(Debug)]
struct Lookup {
    file: Option<Arc<DatabaseFile<Database>>>,
    shown: LookedUp,
}

#[derive(Debug)]
enum LookedUp {
    Metadata(Metadata),
    Value { default: Box<[u8]>, path: Path, proxies: Proxies },
}

/// Opens the databases of a configuration.
pub(super) fn tables(making: &mut TableMaking<'_>) -> Vec<TableVariable> {
    let Geoip2Settings { databases, proxies } = making.http.settings.feature();
    let mut tables = Vec::new();
    for conf in databases {
        let file = match open(conf, making) {
            Ok(file) => Some(file),
            Err(error) => {
                making.errors.push(Diagnostic::error(conf.path.span, error).help(
                    "set the path of a database (.mmdb) that the user of the workers can read; geoipupdate downloads databases",
                ));
                None
            }
        };
        let of = |variable| of_variable(variable, conf, proxies, file.clone());
        tables.extend(conf.variables.iter().map(of));
    }
    tables
}

fn open(conf: &DatabaseConf, making: &TableMaking<'_>) -> Result<Arc<DatabaseFile<Database>>, String> {
    let path = conf.path.as_str().ok_or("the path is not valid UTF-8")?;
    DatabaseFile::open(making.folder.join(path), Database::read, conf.reload_ms, making.log.clone())
}

fn of_variable(
    conf: &VariableConf,
    database: &DatabaseConf,
    proxies: &Proxies,
    file: Option<Arc<DatabaseFile<Database>>>,
) -> TableVariable {
    let (sources, shown) = match &conf.shown {
        Shown::Metadata(field) => (Vec::new(), LookedUp::Metadata(*field)),
        Shown::Value { default, source, path } => {
            // With `source=`, the address is used directly, and proxies are ignored.
            let (sources, proxies) = match source {
                Some(source) => (vec![source.clone()], Proxies::default()),
                None => (proxies.sources(conf.variable.span), proxies.clone()),
            };
            let (default, path) = (default.as_slice().into(), Path::new(path));
            (sources, LookedUp::Value { default, path, proxies })
        }
    };
    TableVariable {
        variable: conf.variable.clone(),
        sources,
        changes: database.reload_ms > 0,
        table: Arc::new(Lookup { file, shown }),
    }
}

impl Table for Lookup {
    fn find(&self, texts: &[&[u8]], out: &mut Vec<u8>) {
        let Some(file) = &self.file else { return };
        let current = file.current();
        match &self.shown {
            LookedUp::Metadata(field) => {
                let shown = match field {
                    Metadata::BuildEpoch => current.contents.built_s(),
                    Metadata::LastCheck => file.looked_ms() / 1000,
                    Metadata::LastChange => current.read_ms / 1000,
                };
                append(out, format_args!("{shown}"));
            }
            LookedUp::Value { default, path, proxies } => {
                let address = proxies.client(texts);
                if !address.is_some_and(|address| current.contents.find(address, path, out)) {
                    out.extend_from_slice(default);
                }
            }
        }
    }
}
