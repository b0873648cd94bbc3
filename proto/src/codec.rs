//! The codec of the servers of `speedup.v1`: prost's, with two differences. A message that cannot be decoded is answered with
//! `INVALID_ARGUMENT`, as it is the sender's fault; tonic's own codec answers `INTERNAL`, which means a bug of the server.
//! And a stream begins with small buffers, as thousands of agents keep one open; large messages reserve their length at once.

use std::marker::PhantomData;

use prost::Message;
use tonic::Status;
use tonic::codec::{BufferSettings, Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic_prost::{ProstCodec, ProstDecoder, ProstEncoder};

/// Initial size of a stream's two buffers, large enough for a grant or a report. tonic's default is 8 KiB.
const BUFFER_BYTES: usize = 1 << 10;
/// Most bytes of messages that are sent together; tonic's default.
const TOGETHER_BYTES: usize = 32 << 10;

fn buffers() -> BufferSettings {
    BufferSettings::new(BUFFER_BYTES, TOGETHER_BYTES)
}

/// The codec of servers. Clients keep tonic's, as an answer that cannot be decoded is indeed `INTERNAL`.
#[derive(Clone, Copy, Debug)]
pub struct ServerCodec<T, U>(PhantomData<(T, U)>);

impl<T, U> Default for ServerCodec<T, U> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<T, U> Codec for ServerCodec<T, U>
where
    T: Message + Send + 'static,
    U: Message + Default + Send + 'static,
{
    type Encode = T;
    type Decode = U;
    type Encoder = AnswerEncoder<T>;
    type Decoder = RequestDecoder<U>;

    fn encoder(&mut self) -> Self::Encoder {
        AnswerEncoder(ProstCodec::<T, U>::raw_encoder(buffers()))
    }

    fn decoder(&mut self) -> Self::Decoder {
        RequestDecoder(ProstCodec::<T, U>::raw_decoder(buffers()))
    }
}

/// Encodes answers, and reserves the length of each first.
#[derive(Clone, Debug)]
pub struct AnswerEncoder<T>(ProstEncoder<T>);

impl<T: Message> Encoder for AnswerEncoder<T> {
    type Item = T;
    type Error = Status;

    fn encode(&mut self, item: T, to: &mut EncodeBuf<'_>) -> Result<(), Status> {
        to.reserve(item.encoded_len());
        self.0.encode(item, to)
    }

    fn buffer_settings(&self) -> BufferSettings {
        self.0.buffer_settings()
    }
}

/// Decodes requests, and answers malformed ones with `INVALID_ARGUMENT`.
#[derive(Clone, Debug)]
pub struct RequestDecoder<U>(ProstDecoder<U>);

impl<U: Message + Default> Decoder for RequestDecoder<U> {
    type Item = U;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<U>, Status> {
        self.0.decode(from).map_err(|status| Status::invalid_argument(status.message()))
    }

    fn buffer_settings(&self) -> BufferSettings {
        self.0.buffer_settings()
    }
}
