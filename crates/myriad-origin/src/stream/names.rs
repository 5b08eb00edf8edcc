//! Names of the variables that a `stream` configuration can use.

use myriad_conf::registry::BuildFeature;
use myriad_http::proxy_protocol::Tlv;
use myriad_script::{Builtin, Catalogue, VariableRole};

/// Prefix of the variables for PROXY protocol values (TLVs).
const TLV: &str = "proxy_protocol_tlv_";

/// Names of the fixed variables, and the PROXY protocol variables that the configuration uses.
pub(crate) struct StreamNames {
    known: Vec<&'static str>,
    /// PROXY protocol values by name, in the order of their first use; `None` for an unknown name.
    tlvs: Vec<(String, Option<Tlv>)>,
}

impl StreamNames {
    /// Creates the names from those of the fixed variables; the position in the list is the number of the variable.
    pub(crate) fn new(known: Vec<&'static str>) -> Self {
        Self { known, tlvs: Vec::new() }
    }

    /// Returns the PROXY protocol value that a variable reads; `None` for fixed variables and unknown values.
    pub(crate) fn proxy_protocol_value(&self, id: Builtin) -> Option<Tlv> {
        let at = (id.0 as usize).checked_sub(self.known.len())?;
        self.tlvs.get(at).and_then(|(_, tlv)| *tlv)
    }
}

impl Catalogue for StreamNames {
    fn builtin(&mut self, name: &str) -> Option<(Builtin, VariableRole)> {
        if let Some(at) = self.known.iter().position(|known| *known == name) {
            return Some((Builtin(at as u32), VariableRole::Fixed));
        }
        let tlv = name.strip_prefix(TLV)?;
        let at = self.tlvs.iter().position(|(known, _)| known == tlv).unwrap_or_else(|| {
            self.tlvs.push((tlv.to_owned(), Tlv::named(tlv)));
            self.tlvs.len() - 1
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
