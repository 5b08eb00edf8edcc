//! Directive that sets a variable to the result of a function of texts (`set_md5 $digest $uri`).

use crate::functions::Function;
use smallvec::SmallVec;

use crate::environment::{Catalogue, Environment};
use crate::error::{EvalError, MOST_TEXT, ScriptError};
use crate::frame::{Frame, SlotKind};
use crate::names::{NameResolver, ResolvedVariable};
use crate::template::parse::parse;
use crate::template::{CaptureForm, Template};

/// Number of function arguments up to which a call does not allocate.
const FEW: usize = 3;

#[derive(Debug)]
pub(super) struct FunctionCall {
    /// Directive that calls the function and its variable, as named in errors.
    name: Box<str>,
    target: ResolvedVariable,
    function: Function,
    arguments: Box<[Template]>,
}

impl FunctionCall {
    pub(super) fn compile<C: Catalogue>(
        name: &str,
        variable: &str,
        (function, arguments): (&Function, &[&str]),
        names: &mut NameResolver<C>,
    ) -> Result<FunctionCall, ScriptError> {
        if function.varies() {
            names.readings_mut().note_varying();
        }
        let arguments = arguments.iter().map(|text| parse(text, names)).collect::<Result<_, _>>()?;
        let target = names.target(variable)?;
        Ok(FunctionCall { name: name.into(), target, function: function.clone(), arguments })
    }

    /// Calls the function and assigns the result to the variable. Returns a copy of the result if `returns_value` is
    /// set, otherwise an empty text.
    pub(super) fn run<E: Environment + ?Sized>(
        &self,
        env: &mut E,
        frame: &mut Frame,
        captures: CaptureForm,
        returns_value: bool,
    ) -> Result<Vec<u8>, EvalError> {
        let mut texts: SmallVec<[Vec<u8>; FEW]> = SmallVec::new();
        for argument in &self.arguments {
            let mut text = frame.take_buffer();
            argument.eval_bounded(env, frame, &mut text, captures, || self.name.to_string())?;
            texts.push(text);
        }
        let mut made = frame.take_buffer();
        self.call(env, &texts, &mut made)?;
        texts.into_iter().for_each(|text| frame.give_buffer(text));
        let copy = if returns_value { made.clone() } else { Vec::new() };
        match &self.target {
            ResolvedVariable::User(variable) => frame.store(variable.slot(), &mut made, SlotKind::Assigned),
            ResolvedVariable::Builtin(id) => env.assign(*id, &made)?,
        }
        frame.give_buffer(made);
        Ok(copy)
    }

    fn call<E: Environment + ?Sized>(
        &self,
        env: &E,
        texts: &[Vec<u8>],
        made: &mut Vec<u8>,
    ) -> Result<(), EvalError> {
        let texts: SmallVec<[&[u8]; FEW]> = texts.iter().map(Vec::as_slice).collect();
        let directive = || self.name.to_string();
        self.function
            .call(&texts, env.surroundings(), made)
            .map_err(|wrong| EvalError::Function { directive: directive(), reason: wrong.to_string() })?;
        if made.len() > MOST_TEXT { Err(EvalError::TooLong { directive: directive() }) } else { Ok(()) }
    }
}
