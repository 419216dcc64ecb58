//! The floor's TLS: records are opened where the socket put them, in one wide buffer.
//!
//! The usual stream of rustls asks the kernel for a record at a time and copies each one four times;
//! this takes as many as there are and copies them twice.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::ops::Range;

use rustls::client::UnbufferedClientConnection;
use rustls::unbuffered::{ConnectionState, UnbufferedStatus};

use crate::tls;

pub(crate) struct Secured {
    socket: TcpStream,
    connection: UnbufferedClientConnection,
    sealed: Vec<u8>,
    filled: Range<usize>, // what came and is not opened yet
    opened: Vec<u8>,      // what was opened and did not fit
    taken: usize,
    outgoing: Vec<u8>,
}

impl Secured {
    pub(crate) fn new(socket: TcpStream) -> anyhow::Result<Self> {
        let connection =
            UnbufferedClientConnection::new(tls::client_config()?, "localhost".try_into()?)?;
        let (sealed, outgoing) = (vec![0; SEALED], Vec::with_capacity(OUTGOING));
        Ok(Self {
            socket,
            connection,
            sealed,
            filled: 0..0,
            opened: Vec::new(),
            taken: 0,
            outgoing,
        })
    }

    /// Goes on until a record was opened into `out`, or, if there is something to `say`, until it
    /// has been said.
    fn advance(&mut self, out: &mut [u8], say: &[u8]) -> io::Result<usize> {
        loop {
            let sealed = &mut self.sealed[self.filled.clone()];
            let UnbufferedStatus { discard, state, .. } =
                self.connection.process_tls_records(sealed);
            let (mut hungry, mut result) = (false, None);
            match state.map_err(io::Error::other)? {
                ConnectionState::ReadTraffic(mut traffic) => {
                    while let Some(record) = traffic.next_record() {
                        let payload = record.map_err(io::Error::other)?.payload;
                        let at = *result.get_or_insert(0);
                        let (now, later) = payload.split_at(payload.len().min(out.len() - at));
                        out[at..at + now.len()].copy_from_slice(now);
                        self.opened.extend_from_slice(later);
                        result = Some(at + now.len());
                    }
                }
                ConnectionState::EncodeTlsData(mut hello) => {
                    let start = self.outgoing.len();
                    self.outgoing.resize(start + OUTGOING, 0);
                    let length = hello.encode(&mut self.outgoing[start..]);
                    self.outgoing.truncate(start + length.map_err(io::Error::other)?);
                }
                ConnectionState::TransmitTlsData(transmit) => {
                    self.socket.write_all(&self.outgoing)?;
                    self.outgoing.clear();
                    transmit.done();
                }
                ConnectionState::WriteTraffic(mut traffic) if !say.is_empty() => {
                    self.outgoing.resize(OUTGOING, 0);
                    let length = traffic.encrypt(say, &mut self.outgoing);
                    self.socket.write_all(&self.outgoing[..length.map_err(io::Error::other)?])?;
                    self.outgoing.clear();
                    result = Some(say.len());
                }
                ConnectionState::BlockedHandshake | ConnectionState::WriteTraffic(_) => {
                    hungry = true
                }
                _ => return Ok(0),
            }
            self.filled.start += discard;
            match result {
                Some(count) if say.is_empty() || count > 0 => return Ok(count),
                _ if hungry => self.fill()?,
                _ => {}
            }
        }
    }

    fn fill(&mut self) -> io::Result<()> {
        self.sealed.copy_within(self.filled.clone(), 0);
        self.filled = 0..self.filled.len();
        match self.socket.read(&mut self.sealed[self.filled.end..])? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            count => {
                self.filled.end += count;
                Ok(())
            }
        }
    }
}

impl Read for Secured {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.opened.is_empty() {
            return self.advance(buffer, &[]);
        }
        let count = buffer.len().min(self.opened.len() - self.taken);
        buffer[..count].copy_from_slice(&self.opened[self.taken..self.taken + count]);
        self.taken += count;
        if self.taken == self.opened.len() {
            self.opened.clear();
            self.taken = 0;
        }
        Ok(count)
    }
}

impl Write for Secured {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.is_empty() { Ok(0) } else { self.advance(&mut [], bytes) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

const SEALED: usize = 256 << 10;
/// Commands and handshakes are short.
const OUTGOING: usize = 16 << 10;
