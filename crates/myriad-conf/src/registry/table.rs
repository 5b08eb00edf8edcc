//! The registry: the rows of every family, found by name.

use std::{
    borrow::Cow,
    collections::HashMap,
    path::Path,
    sync::{LazyLock, OnceLock},
};

use super::{
    default,
    directive::{DefaultValue, Directive, Status},
    family::{ExamineBlock, ExamineHttp, ExamineLocation, Family, ProtocolLanguage},
    known::{self, known},
    own,
    suggest::nearest,
};
use crate::{
    builtin::BuiltinFile,
    parse::parse,
    parsed::{Node, Parsed},
    settings::{Protocol, Settings},
    source::Loader,
};

/// Every directive that a configuration may hold. Made once, and handed to whoever reads configurations.
pub struct Registry {
    directives: Vec<Directive>,
    by_name: HashMap<Cow<'static, str>, Vec<usize>>,
    /// Defaults that are texts, as directives, by the index of their rows.
    defaults: Vec<(usize, Node)>,
    protocols: Vec<ProtocolLanguage>,
    block_examinations: Vec<ExamineBlock>,
    location_examinations: Vec<ExamineLocation>,
    http_examinations: Vec<ExamineHttp>,
    /// What `http` begins with; made when it is first asked for.
    pub(crate) outermost: OnceLock<Settings>,
}

impl Registry {
    /// The directives of the language itself, and those that features and protocols of origins bring.
    pub fn new(
        features: impl IntoIterator<Item = Family>,
        protocols: impl IntoIterator<Item = ProtocolLanguage>,
    ) -> Self {
        let features: Vec<Family> = features.into_iter().collect();
        let protocols: Vec<ProtocolLanguage> = protocols.into_iter().collect();
        let of_protocols = protocols.iter().flat_map(|language| language.families);
        let mut directives: Vec<Directive> = Vec::new();
        let mut block_examinations = Vec::new();
        let (mut location_examinations, mut http_examinations) = (Vec::new(), Vec::new());
        for family in own::FAMILIES.iter().chain(&features).chain(of_protocols) {
            let rows = family.rows.iter().cloned();
            directives.extend(rows.map(|row| Directive { family: family.name, ..row }));
            block_examinations.extend(family.examine_block);
            location_examinations.extend(family.examine_location);
            http_examinations.extend(family.examine_http);
        }
        for ProtocolLanguage { protocol, families, .. } in &protocols {
            for Family { name, of_origins, .. } in families.iter().chain(&own::OF_ORIGINS).chain(&features) {
                directives.extend(of_origins.iter().filter_map(|row| row.named_for(*protocol, name)));
            }
        }
        let mut by_name: HashMap<Cow<'static, str>, Vec<usize>> = HashMap::new();
        for (index, directive) in directives.iter().enumerate() {
            by_name.entry(directive.name.clone()).or_default().push(index);
        }
        let defaults = default::written(&directives);
        Self {
            directives,
            by_name,
            defaults,
            protocols,
            block_examinations,
            location_examinations,
            http_examinations,
            outermost: OnceLock::new(),
        }
    }

    /// The directives of the language itself, without any origins.
    pub fn language() -> &'static Self {
        static LANGUAGE: LazyLock<Registry> = LazyLock::new(|| Registry::new([], []));
        &LANGUAGE
    }

    /// Reads a configuration and everything it includes; where a machine lacks a file of the protocols, its built-in text.
    /// `path` is the file as it can be opened, and its folder is what relative includes are looked up in; `globals` are the
    /// directives of `-g`, or nothing. Never fails: what is wrong is in [`Parsed::errors`].
    pub fn parse(&self, loader: &dyn Loader, path: &Path, globals: &[u8]) -> Parsed {
        let files: Vec<BuiltinFile> =
            self.protocols.iter().flat_map(|language| language.files).copied().collect();
        parse(loader, path, globals, &files)
    }

    /// The protocols of origins, in the order in which they were given.
    pub fn protocols(&self) -> impl Iterator<Item = Protocol> {
        self.protocols.iter().map(|language| language.protocol)
    }

    /// What a protocol brings to the language.
    pub(crate) fn language_of(&self, protocol: Protocol) -> Option<&ProtocolLanguage> {
        self.protocols.iter().find(|language| language.protocol == protocol)
    }

    /// Every directive that is more than a refused name, by family, then in the order of its rows.
    pub fn directives(&self) -> &[Directive] {
        &self.directives
    }

    /// The defaults that are texts, each with its row, as directives that stand nowhere.
    pub(crate) fn defaults(&self) -> impl Iterator<Item = (&Directive, &Node)> {
        self.defaults.iter().map(|(index, node)| (&self.directives[*index], node))
    }

    /// What looks each location and each `if` over.
    pub(crate) fn block_examinations(&self) -> impl Iterator<Item = ExamineBlock> {
        self.block_examinations.iter().copied()
    }

    /// What looks each location over.
    pub(crate) fn location_examinations(&self) -> impl Iterator<Item = ExamineLocation> {
        self.location_examinations.iter().copied()
    }

    /// What looks the whole configuration over.
    pub(crate) fn http_examinations(&self) -> impl Iterator<Item = ExamineHttp> {
        self.http_examinations.iter().copied()
    }

    /// The rows of a name: most have one, those that mean different things in different contexts several.
    pub(crate) fn rows_named(&self, name: &str) -> impl Iterator<Item = &Directive> + Clone {
        let rows = self.by_name.get(name).map_or(&[][..], Vec::as_slice);
        rows.iter().map(|index| &self.directives[*index])
    }

    /// Whether a word is the name of a directive, be it one that is refused.
    pub(crate) fn knows(&self, name: &str) -> bool {
        self.by_name.contains_key(name) || known(name).is_some()
    }

    /// The nearest directive, implemented ones first.
    pub(crate) fn nearest_directive(&self, name: &str) -> Option<&str> {
        nearest(name, self.directives.iter().map(|directive| &*directive.name))
            .or_else(|| nearest(name, known::all().map(|directive| directive.name)))
    }

    /// The whole registry, for docs: every directive, then every name that is known and refused.
    pub fn rows(&self) -> Vec<Row> {
        let implemented = self.directives.iter().map(|directive| Row {
            name: directive.name.clone().into_owned(),
            family: directive.family,
            contexts: directive.contexts.to_string(),
            default: directive.default,
            status: directive.status,
            doc: directive.doc,
        });
        let refused = known::all().map(|directive| Row {
            name: directive.name.to_owned(),
            family: directive.module,
            contexts: String::new(),
            default: DefaultValue::None,
            status: Status::Refused(directive.reason),
            doc: "",
        });
        // The parser itself puts other files in its place.
        let include = Row {
            name: "include".to_owned(),
            family: "process",
            contexts: "any".to_owned(),
            default: DefaultValue::None,
            status: Status::Same,
            doc: "Reads other files in its place; the name may hold `*`, `?` and `[ ]`.",
        };
        std::iter::once(include).chain(implemented).chain(refused).collect()
    }
}

/// One line of the table in the docs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The directive's name.
    pub name: String,
    /// The family, or nginx's module for names that are only refused.
    pub family: &'static str,
    /// The contexts where it may stand, as nginx's manual says them; empty for names that are only refused.
    pub contexts: String,
    /// What holds where it is not written.
    pub default: DefaultValue,
    /// How it fares here.
    pub status: Status,
    /// What it does; empty for names that are only refused.
    pub doc: &'static str,
}
