//! Names of variables that a configuration may use.

use myriad_conf::registry::BuildFeature;
use myriad_http::proxy_protocol::Tlv;
use myriad_script::{Builtin, Catalogue, VariableRole};

/// Prefix of all names of PROXY protocol values.
const TLV: &str = "proxy_protocol_tlv_";

/// Variables that a configuration may use, and the prefixed variables that it uses.
pub(crate) struct StreamNames {
    known: Vec<&'static str>,
    /// Values of the PROXY protocol, in the order of their first use.
    facts: Vec<(String, Option<Tlv>)>,
}

impl StreamNames {
    /// Creates the names from the fixed variables, whose indexes are their numbers.
    pub(crate) fn new(known: Vec<&'static str>) -> Self {
        Self { known, facts: Vec::new() }
    }

    /// Returns the PROXY protocol value of a number above the fixed names.
    pub(crate) fn proxy_protocol_value(&self, id: Builtin) -> Option<Tlv> {
        let at = (id.0 as usize).checked_sub(self.known.len())?;
        self.facts.get(at).and_then(|(_, fact)| *fact)
    }
}

impl Catalogue for StreamNames {
    fn builtin(&mut self, name: &str) -> Option<(Builtin, VariableRole)> {
        if let Some(at) = self.known.iter().position(|known| *known == name) {
            return Some((Builtin(at as u32), VariableRole::Fixed));
        }
        let fact = name.strip_prefix(TLV)?;
        let at = self.facts.iter().position(|(known, _)| known == fact).unwrap_or_else(|| {
            self.facts.push((fact.to_owned(), Tlv::named(fact)));
            self.facts.len() - 1
        });
        Some((Builtin((self.known.len() + at) as u32), VariableRole::Fixed))
    }

    fn names(&self) -> &[&str] {
        &self.known
    }

    fn refusal(&self, name: &str) -> Option<&'static str> {
        BuildFeature::missing_for_variable(name).map(|feature| feature.refusal)
    }

    fn other_module(&self, name: &str) -> Option<(&'static str, &'static str)> {
        myriad_conf::registry::module_of_variable(name)
    }
}
