//! The names of variables that a configuration may use.

use myriad_http::proxy_protocol::Tlv;
use myriad_script::{Builtin, Catalogue, Role};

/// What all names begin with that stand for facts of the PROXY protocol.
const TLV: &str = "proxy_protocol_tlv_";

/// The variables that a configuration may name, and those of a prefix that it does.
pub(crate) struct StreamNames {
    known: Vec<&'static str>,
    /// Facts of the PROXY protocol, in the order in which they were named.
    facts: Vec<(String, Option<Tlv>)>,
}

impl StreamNames {
    /// With the variables of fixed names, whose places are their numbers.
    pub(crate) fn new(known: Vec<&'static str>) -> Self {
        Self { known, facts: Vec::new() }
    }

    /// The fact of the PROXY protocol that a number beyond the fixed names stands for.
    pub(crate) fn fact(&self, id: Builtin) -> Option<Tlv> {
        let at = (id.0 as usize).checked_sub(self.known.len())?;
        self.facts.get(at).and_then(|(_, fact)| *fact)
    }
}

impl Catalogue for StreamNames {
    fn builtin(&mut self, name: &str) -> Option<(Builtin, Role)> {
        if let Some(at) = self.known.iter().position(|known| *known == name) {
            return Some((Builtin(at as u32), Role::Fixed));
        }
        let fact = name.strip_prefix(TLV)?;
        let at = self.facts.iter().position(|(known, _)| known == fact).unwrap_or_else(|| {
            self.facts.push((fact.to_owned(), Tlv::named(fact)));
            self.facts.len() - 1
        });
        Some((Builtin((self.known.len() + at) as u32), Role::Fixed))
    }

    fn names(&self) -> &[&str] {
        &self.known
    }

    fn other_module(&self, name: &str) -> Option<(&'static str, &'static str)> {
        myriad_conf::registry::module_of_variable(name)
    }
}
