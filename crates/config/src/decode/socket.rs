//! Addresses to listen on.

use std::net::SocketAddr;

use crate::decode::block::Block;
use crate::decode::coerce;

/// Reads address and port of a listener, such as `example`. A number alone would leave open who can reach it, so the
/// address is written out.
pub(crate) fn decode_socket(
    block: &mut Block<'_>,
    key: &'static str,
    example: &str,
) -> Option<SocketAddr> {
    let written = block.filled_text(key)?;
    let address: Result<SocketAddr, _> = written.value.parse();
    if address.is_err() {
        let port = example.rsplit(':').next().unwrap_or_default();
        let message = format!(
            "{} in `{}` is no address and port such as {example:?} or \"[::]:{port}\"",
            coerce::quoted(&written.value),
            block.path_of(key)
        );
        block.sink().error(&written.place, message);
    }
    address.ok()
}
