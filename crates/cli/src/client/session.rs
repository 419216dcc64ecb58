//! One command: a daemon to ask, and somebody to tell.

use std::io::{self, StdoutLock, Write};

use bergamot_rpc::{Client, Events};
use serde_json::Value;

use crate::client::endpoint::Place;
use crate::failure::Failure;
use crate::terminal::style::Look;

#[derive(Debug)]
pub(crate) struct Session {
    client: Client,
    place: Place,
    pub(crate) out: Output,
}

/// Standard output, in the form that was asked for.
#[derive(Debug)]
pub(crate) struct Output {
    to: StdoutLock<'static>,
    pub(crate) form: Form,
    pub(crate) look: Look,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Form {
    /// What the daemon answers, unchanged.
    Json,
    People,
    /// Ids and nothing else.
    Quiet,
}

impl Session {
    pub(crate) fn new(client: Client, place: Place, form: Form, look: Look) -> Self {
        Self { client, place, out: Output { to: io::stdout().lock(), form, look } }
    }

    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Result<Value, Failure> {
        Ok(self.client.call(method, params)?)
    }

    /// What happens from now on, over a connection of its own.
    pub(crate) fn events(&self) -> Result<Events, Failure> {
        Ok(self.place.connect()?.subscribe(None)?)
    }
}

impl Output {
    /// An answer as it came, or the page people get of it.
    pub(crate) fn answer(
        &mut self,
        answer: &Value,
        page: impl FnOnce(Look) -> Result<String, Failure>,
    ) -> Result<(), Failure> {
        match self.form {
            Form::Json => self.json(answer),
            Form::People => {
                let page = page(self.look)?;
                self.text(&page)
            }
            Form::Quiet => Ok(()),
        }
    }

    /// On a line of its own for programs, spread out for people.
    pub(crate) fn json(&mut self, value: &Value) -> Result<(), Failure> {
        let text = match self.look.width {
            Some(_) => serde_json::to_string_pretty(value)?,
            None => value.to_string(),
        };
        self.text(&format!("{text}\n"))
    }

    pub(crate) fn text(&mut self, text: &str) -> Result<(), Failure> {
        self.to.write_all(text.as_bytes())?;
        Ok(self.to.flush()?)
    }
}
