//! Directive `bots`, and the parser of its block.

use myriad_conf::registry::{Arguments, Contexts, Directive, Set, SetterResult, block, parse_network};
use myriad_conf::settings::Settings;
use myriad_conf::{Diagnostic, Node};

use super::list::BotLine;
use super::settings::BotSettings;

const LINE: &str = "write `CLASS \"part of User-Agent\" [network ...];`, for example `monitor \"MyUptime\" 192.0.2.0/24;`, or \
     `builtin off;`";

pub(super) static ROWS: &[Directive] = &[Directive::new(
    "bots",
    Contexts::HTTP,
    block(0, 0),
    Set::Settings(bots),
    "Bots that are checked before the built-in list (`presets/bots.conf`): lines `CLASS \"part of User-Agent\" \
         [network ...];`, the first match applies, and `builtin off;`. The class is the value of `$bot`; `none` means a \
         regular client. A client with the name of a bot, but from none of its networks, is `forged`.",
)
.repeats()
.own()];

fn bots(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let bot_settings = settings.feature_mut::<BotSettings>();
    bot_settings.is_configured = true;
    for line in args.node.block.iter().flatten() {
        if line.name.text == b"builtin" {
            bot_settings.builtin = builtin(line)?;
        } else {
            bot_settings.lines.push(parse_robot(line)?);
        }
    }
    Ok(())
}

fn builtin(line: &Node) -> Result<bool, Diagnostic> {
    match line.args.as_slice() {
        [word] if word.text == b"on" => Ok(true),
        [word] if word.text == b"off" => Ok(false),
        _ => {
            Err(Diagnostic::error(line.span, "invalid \"builtin\"")
                .help("write `builtin off;` or `builtin on;`"))
        }
    }
}

fn parse_robot(line: &Node) -> Result<BotLine, Diagnostic> {
    let class = line.name.text.as_slice();
    let sound = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if line.block.is_some() || !class.iter().all(sound) {
        let shown = String::from_utf8_lossy(class);
        return Err(Diagnostic::error(line.name.span, format!("invalid class \"{shown}\"")).help(LINE));
    }
    let [agent, networks @ ..] = line.args.as_slice() else {
        return Err(Diagnostic::error(line.span, "the part of User-Agent is missing").help(LINE));
    };
    if agent.text.is_empty() {
        return Err(Diagnostic::error(agent.span, "an empty text matches every User-Agent").help(LINE));
    }
    let network = |word: &myriad_conf::Word| {
        parse_network(&word.text).ok_or_else(|| {
            let shown = String::from_utf8_lossy(&word.text);
            Diagnostic::error(word.span, format!("invalid network \"{shown}\"")).help(LINE)
        })
    };
    let class = if class == b"none" { &b""[..] } else { class };
    let networks = networks.iter().map(network).collect::<Result<_, _>>()?;
    Ok(BotLine { class: class.into(), agent: agent.text.as_slice().into(), networks })
}
