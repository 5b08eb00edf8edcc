//! Compiles blocks of `map`, `geo` and `split_clients`, and tables of the embedder, into the computations of their
//! variables.

use std::sync::Arc;

use super::Lazy;
use crate::environment::Catalogue;
use crate::error::ScriptError;
use crate::geo::Geo;
use crate::map::Map;
use crate::names::NameResolver;
use crate::split_clients::SplitClients;
use crate::table::VariableTable;
use crate::template::parse::parse;

/// Compiles `map source $variable { lines }`.
pub(crate) fn map<C: Catalogue>(
    variable: &str,
    source: &str,
    lines: &[Vec<&str>],
    names: &mut NameResolver<C>,
) -> Result<Lazy, Vec<ScriptError>> {
    Map::compile(variable, source, lines, names).map(Lazy::Map)
}

/// Compiles `geo $address $variable { lines }`.
pub(crate) fn geo<C: Catalogue>(
    address: &str,
    lines: &[Vec<&str>],
    names: &mut NameResolver<C>,
) -> Result<Lazy, Vec<ScriptError>> {
    let address = parse(address, names).map_err(|error| vec![error])?;
    let (table, mut errors) = Geo::compile(lines);
    let forwarded = table.trusts_proxies().then(|| parse("$http_x_forwarded_for", names)).transpose();
    match forwarded {
        Ok(forwarded) if errors.is_empty() => return Ok(Lazy::Geo { address, forwarded, table }),
        Ok(_) => {}
        Err(error) => errors.push(error),
    }
    Err(errors)
}

/// Compiles a table of the embedder with its input texts. The variables in `follows` are only recorded as read.
pub(crate) fn table<C: Catalogue>(
    sources: &[&str],
    follows: &[&str],
    table: Arc<dyn VariableTable>,
    names: &mut NameResolver<C>,
) -> Result<Lazy, Vec<ScriptError>> {
    let mut templates = Vec::with_capacity(sources.len());
    for (item, source) in sources.iter().enumerate() {
        templates.push(parse(source, names).map_err(|error| vec![error.in_item(item)])?);
    }
    for text in follows {
        parse(text, names).map_err(|error| vec![error])?;
    }
    Ok(Lazy::Table { sources: templates.into(), table })
}

/// Compiles `split_clients source $variable { lines }`.
pub(crate) fn split_clients<C: Catalogue>(
    source: &str,
    lines: &[Vec<&str>],
    names: &mut NameResolver<C>,
) -> Result<Lazy, Vec<ScriptError>> {
    let source = parse(source, names).map_err(|error| vec![error])?;
    Ok(Lazy::SplitClients { source, table: SplitClients::compile(lines)? })
}
