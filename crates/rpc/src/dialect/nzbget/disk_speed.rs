//! `testdiskspeed`: writes to a directory and reports the speed.

use std::time::Duration;

use bergamot_api::Control;
use bergamot_api::request::DiskTest;
use bergamot_api::view::DiskSpeed;
use bergamot_types::ByteCount;
use serde::{Serialize, Serializer};

use crate::call::Call;
use crate::call::fault::Fault;
use crate::codec::reply::Reply;
use crate::dialect::nzbget::fields::{Fields, narrow};

struct Speed(DiskSpeed);

impl Serialize for Speed {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut fields = Fields::of(to);
        fields
            .put("SizeMB", narrow(self.0.written >> 20))
            .put("DurationMS", narrow(self.0.took.as_millis()));
        fields.end()
    }
}

pub(crate) async fn test_disk_speed<C: Control>(mut call: Call<'_, C>) -> Result<Reply, Fault> {
    let mut arguments = call.arguments()?;
    let path = arguments.text("DirPath")?.into_owned();
    let mut bounded = |name: &str, least: u64, most: u64| -> Result<u64, Fault> {
        Ok(u64::try_from(arguments.integer(name)?).unwrap_or(0).clamp(least, most))
    };
    let kibibytes = bounded("WriteBuffer", SMALLEST_BUFFER, LARGEST_BUFFER)?;
    let gibibytes = bounded("MaxFileSize", 1, LARGEST_FILE)?;
    let seconds = bounded("Timeout", 1, LONGEST)?;
    let trial = DiskTest {
        path,
        buffer: (kibibytes << 10) as usize,
        most: ByteCount(gibibytes << 30),
        patience: Duration::from_secs(seconds),
    };
    call.answer(&Speed(call.control.test_disk(trial).await?))
}

/// In KiB. NZBGet has 0 for its default.
const SMALLEST_BUFFER: u64 = 4;
/// In KiB; larger ones make no disk faster.
const LARGEST_BUFFER: u64 = 16 << 10;
/// In GiB; a fast disk takes that within its time.
const LARGEST_FILE: u64 = 4;
/// In seconds; clients give up after a minute.
const LONGEST: u64 = 30;
