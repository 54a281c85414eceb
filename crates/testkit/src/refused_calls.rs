//! Calls that a stand-in of a gRPC service refuses.

/// Writes calls that are refused, each as `name: Request => Response;`, in the `impl` of a service.
#[macro_export]
macro_rules! refused_calls {
    ($($call:ident: $request:ty => $response:ty;)*) => { $(
        fn $call<'s, 'f>(
            &'s self,
            _request: ::tonic::Request<$request>,
        ) -> ::std::pin::Pin<Box<
            dyn Future<Output = Result<::tonic::Response<$response>, ::tonic::Status>> + Send + 'f,
        >>
        where
            's: 'f,
            Self: 'f,
        {
            let refused = ::tonic::Status::permission_denied(stringify!(no client calls $call here));
            Box::pin(::std::future::ready(Err(refused)))
        }
    )* };
}
