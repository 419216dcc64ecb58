//! Drives one session on its stream.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadHalf, WriteHalf, split};
use tokio::time;
use tokio_rustls::TlsAcceptor;

use crate::faults::Rule;
use crate::faults::fault::{Fault, Stage};
use crate::server::Security;
use crate::server::cable::{Cable, Hand};
use crate::server::compressed::Compressed;
use crate::session::site::Site;
use crate::session::{Output, Session};

/// Speaks on one accepted stream until either side has enough.
pub(crate) async fn serve<S: Duplex + 'static>(stream: S, site: Arc<Site>, security: Security) {
    let session = Session::new(now(), Arc::clone(&site));
    // An error here is the reader's end of the connection, which is theirs to end.
    let _ = Wire::new(stream, site, session).run(&security).await;
}

pub(crate) trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Duplex for S {}

struct Wire {
    site: Arc<Site>,
    session: Session,
    hand: Arc<Hand>,
    reader: ReadHalf<Box<dyn Duplex>>,
    writer: WriteHalf<Box<dyn Duplex>>,
    compressed: Option<Compressed>,
}

/// Why a conversation stopped.
enum Step {
    Close,
    Gone,
    StartTls,
}

impl Wire {
    fn new<S: Duplex + 'static>(stream: S, site: Arc<Site>, session: Session) -> Self {
        let (cable, hand) = Cable::new(stream, Arc::clone(&site));
        let (reader, writer) = split(Box::new(cable) as Box<dyn Duplex>);
        Self { site, session, hand, reader, writer, compressed: None }
    }

    async fn run(mut self, security: &Security) -> io::Result<()> {
        if let Security::Tls(config) = security {
            self = self.shake_hands(config).await?;
        }
        loop {
            match (self.converse().await?, security.config()) {
                (Step::Close, _) => return self.close().await,
                (Step::StartTls, Some(config)) => self = self.shake_hands(config).await?,
                (Step::Gone, _) | (Step::StartTls, None) => return Ok(()),
            }
        }
    }

    /// Moves bytes between the session and the stream.
    async fn converse(&mut self) -> io::Result<Step> {
        let mut buffer = vec![0; READ];
        let mut unsent = Unsent::default();
        loop {
            while unsent.is_empty() {
                match self.session.poll_output(now()) {
                    Some(Output::Send(bytes)) => {
                        let bytes = match &mut self.compressed {
                            Some(layer) => layer.deflate(&bytes)?,
                            None => bytes,
                        };
                        unsent = Unsent { bytes, sent: 0 };
                    }
                    Some(Output::StartDeflate) => self.compressed = Some(Compressed::new()),
                    Some(Output::Close) => return Ok(Step::Close),
                    Some(Output::Cut) => {
                        self.writer.flush().await?;
                        self.hand.cut();
                        return Ok(Step::Close);
                    }
                    Some(Output::StartTls) => return Ok(Step::StartTls),
                    None => break,
                }
            }
            if unsent.is_empty() {
                self.writer.flush().await?;
            }
            let deadline = self.session.poll_timeout().filter(|_| unsent.is_empty());
            tokio::select! {
                read = self.reader.read(&mut buffer), if self.session.wants_input() => {
                    let length = read?;
                    if length == 0 {
                        return Ok(Step::Gone);
                    }
                    match &mut self.compressed {
                        Some(layer) => {
                            let bytes = layer.inflate(&buffer[..length])?;
                            self.session.handle_input(now(), &bytes);
                        }
                        None => self.session.handle_input(now(), &buffer[..length]),
                    }
                }
                written = self.writer.write(unsent.rest()), if !unsent.is_empty() => {
                    unsent.sent += written?;
                }
                () = sleep_until(deadline), if deadline.is_some() => {}
            }
        }
    }

    async fn shake_hands(mut self, config: &Arc<ServerConfig>) -> io::Result<Self> {
        self.writer.flush().await?;
        let mut stream = self.reader.unsplit(self.writer);
        let rule = self.site.faults.for_nth(Stage::Tls, self.session.nth());
        match rule.map(Rule::fault) {
            Some(fault @ Fault::HandshakeStalled) => {
                self.site.tally.fire(fault);
                discard(&mut stream).await;
                return Err(io::ErrorKind::TimedOut.into());
            }
            Some(fault @ Fault::HandshakeGarbled) => {
                self.site.tally.fire(fault);
                stream.write_all(GARBAGE).await?;
                discard(&mut stream).await;
                return Err(io::ErrorKind::InvalidData.into());
            }
            Some(_) => self.hand.spoil(),
            None => {}
        }
        let secured = TlsAcceptor::from(Arc::clone(config)).accept(stream).await;
        self.site.tally.handshake(secured.is_ok());
        let (reader, writer) = split(Box::new(secured?) as Box<dyn Duplex>);
        self.session.handle_tls();
        Ok(Self { reader, writer, ..self })
    }

    /// Says goodbye and waits for the other side to have read it: closing with unread commands in
    /// the socket would reset the connection and take the last answer along.
    async fn close(mut self) -> io::Result<()> {
        self.writer.shutdown().await?;
        let mut stream = self.reader.unsplit(self.writer);
        let _ = time::timeout(LINGER, discard(&mut stream)).await;
        Ok(())
    }
}

/// The bytes the session handed out last.
#[derive(Default)]
struct Unsent {
    bytes: Vec<u8>,
    sent: usize,
}

impl Unsent {
    fn rest(&self) -> &[u8] {
        &self.bytes[self.sent..]
    }

    fn is_empty(&self) -> bool {
        self.rest().is_empty()
    }
}

async fn discard(stream: &mut Box<dyn Duplex>) {
    let mut buffer = [0; 4096];
    while let Ok(1..) = stream.read(&mut buffer).await {}
}

async fn sleep_until(deadline: Option<Instant>) {
    if let Some(deadline) = deadline {
        time::sleep_until(deadline.into()).await;
    }
}

/// The clock of the runtime, which tests may have stopped.
fn now() -> Instant {
    time::Instant::now().into_std()
}

/// Commands are short; this holds a hundred.
const READ: usize = 8 << 10;
const LINGER: Duration = Duration::from_secs(1);
/// What a server that speaks no TLS might say.
const GARBAGE: &[u8] = b"HTTP/1.1 400 Bad Request\r\n\r\n";

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncBufReadExt, BufReader, duplex};

    use super::*;
    use crate::faults::Faults;
    use crate::faults::manners::Manners;
    use crate::posts::articles::Posted;

    fn site(manners: Manners) -> Arc<Site> {
        Site::new(Arc::new(Posted::new()), manners, Faults::none())
    }

    #[tokio::test(start_paused = true)]
    async fn pipelined_answers_leave_in_order_one_round_trip_later() {
        let round_trip = Duration::from_millis(250);
        let site = site(Manners { round_trip, ..Manners::default() });
        let (near, far) = duplex(1 << 16);
        let serving = tokio::spawn(serve(far, site, Security::Plain));
        let (reader, mut writer) = split(near);
        let mut lines = BufReader::new(reader).lines();
        lines.next_line().await.unwrap();
        let start = time::Instant::now();
        writer.write_all(b"DATE\r\nSTAT <a@x>\r\n").await.unwrap();
        time::sleep(round_trip / 2).await;
        writer.write_all(b"QUIT\r\n").await.unwrap();
        let mut heard = Vec::new();
        while let Some(line) = lines.next_line().await.unwrap() {
            heard.push((line[..3].to_owned(), start.elapsed().as_millis()));
        }
        let expected = [("111", 250), ("430", 250), ("205", 375)];
        // The timer of tokio counts whole milliseconds and rounds up.
        let close = |at: u128, due: u128| (due..=due + 1).contains(&at);
        assert_eq!(heard.len(), expected.len(), "{heard:?}");
        for ((code, at), (expected, due)) in heard.iter().zip(expected) {
            assert!(code == expected && close(*at, due), "{heard:?}");
        }
        drop((lines, writer));
        serving.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_hundred_questions_at_once_cost_one_round_trip() {
        let round_trip = Duration::from_millis(100);
        let site = site(Manners { round_trip, ..Manners::default() });
        let (near, far) = duplex(1 << 16);
        tokio::spawn(serve(far, site, Security::Plain));
        let (reader, mut writer) = split(near);
        let mut lines = BufReader::new(reader).lines();
        lines.next_line().await.unwrap();
        let start = time::Instant::now();
        writer.write_all(&b"STAT <a@x>\r\n".repeat(100)).await.unwrap();
        for _ in 0..100 {
            lines.next_line().await.unwrap();
        }
        assert!(start.elapsed() < round_trip * 2, "{:?}", start.elapsed());
    }
}
