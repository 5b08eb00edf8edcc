//! Opening of the databases, and lookup of their variables.

use std::sync::Arc;

use myriad_conf::Diagnostic;
use myriad_exchange::feature::{TableMaking, TableVariable};
use myriad_script::VariableTable;

use super::database::{Geoip2Database, ValuePath, append};
use super::settings::{DatabaseConf, DatabaseMetadata, Geoip2Settings, VariableConf, VariableValue};
use crate::geo_database::client_address::TrustedProxies;
use crate::geo_database::file::DatabaseFile;

/// Lookup of one variable. `file` is `None` if the database could not be opened; the configuration is then rejected.
#[derive(Debug)]
struct VariableLookup {
    file: Option<Arc<DatabaseFile<Geoip2Database>>>,
    source: LookupSource,
}

#[derive(Debug)]
enum LookupSource {
    Metadata(DatabaseMetadata),
    Value { default: Box<[u8]>, path: ValuePath, proxies: TrustedProxies },
}

/// Opens the databases of a configuration, and returns their variables. Reports databases that cannot be opened.
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

fn open(conf: &DatabaseConf, making: &TableMaking<'_>) -> Result<Arc<DatabaseFile<Geoip2Database>>, String> {
    let path = conf.path.as_str().ok_or("the path is not valid UTF-8")?;
    DatabaseFile::open(making.folder.join(path), Geoip2Database::read, conf.reload_ms, making.log.clone())
}

fn of_variable(
    conf: &VariableConf,
    database: &DatabaseConf,
    proxies: &TrustedProxies,
    file: Option<Arc<DatabaseFile<Geoip2Database>>>,
) -> TableVariable {
    let (sources, shown) = match &conf.value {
        VariableValue::Metadata(field) => (Vec::new(), LookupSource::Metadata(*field)),
        VariableValue::Value { default, source, path } => {
            // With `source=`, the given address is looked up as it is, without regard to proxies.
            let (sources, proxies) = match source {
                Some(source) => (vec![source.clone()], TrustedProxies::default()),
                None => (proxies.sources(conf.variable.span), proxies.clone()),
            };
            let (default, path) = (default.as_slice().into(), ValuePath::new(path));
            (sources, LookupSource::Value { default, path, proxies })
        }
    };
    TableVariable {
        variable: conf.variable.clone(),
        sources,
        changes: database.reload_ms > 0,
        table: Arc::new(VariableLookup { file, source: shown }),
    }
}

impl VariableTable for VariableLookup {
    fn find(&self, texts: &[&[u8]], out: &mut Vec<u8>) {
        let Some(file) = &self.file else { return };
        let current = file.current();
        match &self.source {
            LookupSource::Metadata(field) => {
                let shown = match field {
                    DatabaseMetadata::BuildEpoch => current.contents.built_s(),
                    DatabaseMetadata::LastCheck => file.last_check_ms() / 1000,
                    DatabaseMetadata::LastChange => current.read_ms / 1000,
                };
                append(out, format_args!("{shown}"));
            }
            LookupSource::Value { default, path, proxies } => {
                let address = proxies.client(texts);
                if !address.is_some_and(|address| current.contents.find(address, path, out)) {
                    out.extend_from_slice(default);
                }
            }
        }
    }
}
