//! Compilation of `tunnel_*`.

use std::collections::HashMap;
use std::sync::Arc;

use myriad_conf::settings::Settings;
use myriad_conf::{Diagnostic, Text};
use myriad_exchange::runtime::{OriginGroup, OriginTarget};

use super::language::{LANGUAGE, REMEDY};
use super::place::TunnelPlace;
use crate::OriginCompiler;
use crate::compiled_protocol::{CompiledProtocol, CompiledTarget};

pub(crate) static PROTOCOL: CompiledProtocol =
    CompiledProtocol { language: LANGUAGE, variables: &[], compile };

fn compile(compile: &mut dyn OriginCompiler, _: &Settings, target: &Text, _: &Text) -> CompiledTarget {
    let named = if target.has_variables() { named(compile, target) } else { HashMap::new() };
    (compile.target(target), Box::new(TunnelPlace { named }))
}

/// Returns the groups by the values of the variable in `tunnel_pass`. Requests can only reach these groups, whatever
/// the variable depends on. Returns an empty map after an error, which is reported.
fn named(compile: &mut dyn OriginCompiler, target: &Text) -> HashMap<Box<[u8]>, Arc<OriginGroup>> {
    let values = match values(compile, target) {
        Ok(values) => values,
        Err(message) => {
            compile.report(Diagnostic::error(target.span, message).help(REMEDY));
            return HashMap::new();
        }
    };
    let mut named = HashMap::new();
    for value in values {
        if let OriginTarget::Group(group) = compile.address(&value.lossy(), &value) {
            named.insert(value.bytes().into(), group);
        }
    }
    named
}

/// Returns the possible non-empty values of a target that is a `map` variable. The error explains why the values are
/// not known.
fn values(compile: &dyn OriginCompiler, target: &Text) -> Result<Vec<Text>, String> {
    let shown = target.lossy();
    let variable = shown.strip_prefix('$').unwrap_or_default();
    let variable = variable.strip_prefix('{').and_then(|name| name.strip_suffix('}')).unwrap_or(variable);
    let map = compile.model().maps.iter().find(|map| map.variable.lossy() == variable);
    let Some(map) = map else {
        return Err(format!(
            "\"tunnel_pass {shown}\" would let requests choose the address: it is not a variable of a map"
        ));
    };
    let written = map.entries.iter().map(|entry| &entry.value).chain([&map.default]);
    let values: Vec<Text> = written.filter(|value| !value.is_empty()).cloned().collect();
    match values.iter().find(|value| value.has_variables()) {
        None => Ok(values),
        Some(value) => Err(format!(
            "\"tunnel_pass {shown}\" would let requests choose the address: the map has the value \"{}\"",
            value.lossy()
        )),
    }
}
