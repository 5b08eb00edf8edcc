//! SSI commands, and validation of their parameters.

use crate::ssi::parser::Directive;

/// SSI command with its parameters; values are not evaluated yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SsiCommand {
    Include { location: IncludeTarget, wait: bool, set: Option<Vec<u8>>, stub: Option<Vec<u8>> },
    Echo { variable: Vec<u8>, default: Option<Vec<u8>>, encoding: Option<Vec<u8>> },
    Config { error_message: Option<Vec<u8>>, time_format: Option<Vec<u8>> },
    Set { variable: Vec<u8>, value: Vec<u8> },
    If(Vec<u8>),
    Elif(Vec<u8>),
    Else,
    Endif,
    Block(Vec<u8>),
    Endblock,
}

/// Target of `include`: the parameter `virtual` or `file`. Both are URIs; a URI without a leading slash is relative to
/// the folder of the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum IncludeTarget {
    Virtual(Vec<u8>),
    File(Vec<u8>),
}

/// Name of an SSI command, such as `include`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SsiCommandKind {
    Include,
    Echo,
    Config,
    Set,
    If,
    Elif,
    Else,
    Endif,
    Block,
    Endblock,
}

impl SsiCommandKind {
    pub(crate) fn named(name: &[u8]) -> Option<Self> {
        Some(match name {
            b"include" => Self::Include,
            b"echo" => Self::Echo,
            b"config" => Self::Config,
            b"set" => Self::Set,
            b"if" => Self::If,
            b"elif" => Self::Elif,
            b"else" => Self::Else,
            b"endif" => Self::Endif,
            b"block" => Self::Block,
            b"endblock" => Self::Endblock,
            _ => return None,
        })
    }

    /// Returns the names of the parameters that the command accepts.
    fn parameters(self) -> &'static [&'static [u8]] {
        match self {
            Self::Include => &[b"virtual", b"file", b"wait", b"set", b"stub"],
            Self::Echo => &[b"var", b"default", b"encoding"],
            Self::Config => &[b"errmsg", b"timefmt"],
            Self::Set => &[b"var", b"value"],
            Self::If | Self::Elif => &[b"expr"],
            Self::Block => &[b"name"],
            Self::Else | Self::Endif | Self::Endblock => &[],
        }
    }
}

/// Validates the parameters of a command. The error is a text for the error log.
pub(crate) fn read(kind: SsiCommandKind, directive: &Directive) -> Result<SsiCommand, String> {
    let name = String::from_utf8_lossy(&directive.name).into_owned();
    let known = kind.parameters();
    let mut values: [Option<Vec<u8>>; 5] = Default::default();
    for (parameter, value) in &directive.parameters {
        let shown = || String::from_utf8_lossy(parameter);
        let Some(index) = known.iter().position(|known| known == parameter) else {
            return Err(format!("invalid parameter name: \"{}\" in \"{name}\" SSI command", shown()));
        };
        if values[index].replace(value.clone()).is_some() {
            return Err(format!("duplicate \"{}\" parameter in \"{name}\" SSI command", shown()));
        }
    }
    let missing = |index: usize| {
        let parameter = String::from_utf8_lossy(known[index]);
        format!("mandatory \"{parameter}\" parameter is absent in \"{name}\" SSI command")
    };
    let [first, second, third, fourth, fifth] = values;
    Ok(match kind {
        SsiCommandKind::Include => include(first, second, third.as_deref(), fourth, fifth)?,
        SsiCommandKind::Echo => {
            SsiCommand::Echo { variable: first.ok_or_else(|| missing(0))?, default: second, encoding: third }
        }
        SsiCommandKind::Config => SsiCommand::Config { error_message: first, time_format: second },
        SsiCommandKind::Set => SsiCommand::Set {
            variable: first.ok_or_else(|| missing(0))?,
            value: second.ok_or_else(|| missing(1))?,
        },
        SsiCommandKind::If => SsiCommand::If(first.ok_or_else(|| missing(0))?),
        SsiCommandKind::Elif => SsiCommand::Elif(first.ok_or_else(|| missing(0))?),
        SsiCommandKind::Block => SsiCommand::Block(first.ok_or_else(|| missing(0))?),
        SsiCommandKind::Else => SsiCommand::Else,
        SsiCommandKind::Endif => SsiCommand::Endif,
        SsiCommandKind::Endblock => SsiCommand::Endblock,
    })
}

fn include(
    uri: Option<Vec<u8>>,
    file: Option<Vec<u8>>,
    wait: Option<&[u8]>,
    set: Option<Vec<u8>>,
    stub: Option<Vec<u8>>,
) -> Result<SsiCommand, String> {
    let location = match (uri, file) {
        (Some(_), Some(_)) => {
            return Err(
                "\"virtual\" and \"file\" cannot be used together in \"include\" SSI command".to_owned()
            );
        }
        (None, None) => return Err("no parameter in \"include\" SSI command".to_owned()),
        (Some(uri), None) => IncludeTarget::Virtual(uri),
        (None, Some(file)) => IncludeTarget::File(file),
    };
    if set.is_some() && stub.is_some() {
        return Err("\"set\" and \"stub\" cannot be used together in \"include\" SSI command".to_owned());
    }
    let wait = match (wait, &location) {
        (None, IncludeTarget::Virtual(_)) => false,
        (None, IncludeTarget::File(_)) => true,
        (Some(_), IncludeTarget::File(_)) => {
            return Err("\"wait\" and \"file\" cannot be used together in \"include\" SSI command".to_owned());
        }
        (Some(word), _) if word.eq_ignore_ascii_case(b"yes") => true,
        (Some(word), _) if word.eq_ignore_ascii_case(b"no") => false,
        (Some(word), _) => {
            let word = String::from_utf8_lossy(word);
            return Err(format!(
                "invalid value \"{word}\" of the \"wait\" parameter in \"include\" SSI command: use \"yes\" or \"no\""
            ));
        }
    };
    Ok(SsiCommand::Include { location, wait, set, stub })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(name: &str, parameters: &[(&str, &str)]) -> Result<SsiCommand, String> {
        let parameters = parameters.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        let kind = SsiCommandKind::named(name.as_bytes()).unwrap();
        read(kind, &Directive { name: name.into(), parameters })
    }

    #[test]
    fn include_takes_one_location_and_waits_for_files() {
        let included = |parameters: &[(&str, &str)]| match command("include", parameters) {
            Ok(SsiCommand::Include { location, wait, .. }) => Ok((location, wait)),
            Ok(other) => panic!("{other:?}"),
            Err(error) => Err(error),
        };
        assert_eq!(included(&[("virtual", "/a")]), Ok((IncludeTarget::Virtual("/a".into()), false)));
        assert_eq!(
            included(&[("virtual", "/a"), ("wait", "YES")]),
            Ok((IncludeTarget::Virtual("/a".into()), true))
        );
        assert_eq!(included(&[("file", "a")]), Ok((IncludeTarget::File("a".into()), true)));
        for wrong in [
            &[][..],
            &[("virtual", "/a"), ("file", "a")],
            &[("file", "a"), ("wait", "yes")],
            &[("virtual", "/a"), ("wait", "perhaps")],
            &[("virtual", "/a"), ("set", "x"), ("stub", "y")],
        ] {
            assert!(included(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn parameters_are_known_and_stand_once() {
        assert!(command("echo", &[("var", "a")]).is_ok());
        assert!(command("echo", &[("var", "a"), ("var", "b")]).is_err());
        assert!(command("echo", &[("default", "a")]).is_err());
        assert!(command("set", &[("var", "a")]).is_err());
        assert!(command("if", &[]).is_err());
        assert!(command("else", &[("expr", "a")]).is_err());
        assert_eq!(command("endblock", &[]), Ok(SsiCommand::Endblock));
        assert_eq!(SsiCommandKind::named(b"ECHO"), None);
    }
}
