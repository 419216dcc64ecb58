//! [`Recorder`]: a TCP proxy in front of one server that records what clients send.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// Use it for tests that check the bytes sent to a server.
#[derive(Debug)]
pub struct Recorder {
    port: u16,
    said: Arc<Mutex<Vec<Vec<u8>>>>, // by connection
}

impl Recorder {
    /// # Panics
    /// When there is no port for it.
    pub fn start(server: u16) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let port = listener.local_addr().expect("it listens").port();
        let said = Arc::new(Mutex::new(Vec::new()));
        let heard = said.clone();
        thread::spawn(move || {
            for (number, stream) in listener.incoming().enumerate() {
                let Ok(stream) = stream else { return };
                heard.lock().expect("no thread panicked").push(Vec::new());
                pass_on(stream, server, number, heard.clone());
            }
        });
        Self { port, said }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// What clients have sent so far, by connection.
    ///
    /// # Panics
    /// When a thread of the recorder did.
    pub fn said(&self) -> Vec<String> {
        let said = self.said.lock().expect("no thread panicked");
        said.iter().map(|bytes| String::from_utf8_lossy(bytes).into_owned()).collect()
    }
}

fn pass_on(client: TcpStream, server: u16, number: usize, said: Arc<Mutex<Vec<Vec<u8>>>>) {
    let Ok(server) = TcpStream::connect((Ipv4Addr::LOCALHOST, server)) else { return };
    let halves = (client.try_clone().expect("a handle"), server.try_clone().expect("a handle"));
    thread::spawn(move || {
        copy(client, server, |bytes| {
            said.lock().expect("no thread panicked")[number].extend_from_slice(bytes);
        });
    });
    thread::spawn(move || copy(halves.1, halves.0, |_| {}));
}

fn copy(mut from: TcpStream, mut to: TcpStream, note: impl Fn(&[u8])) {
    let mut buffer = [0; 16 << 10];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        note(&buffer[..length]);
        if to.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}
