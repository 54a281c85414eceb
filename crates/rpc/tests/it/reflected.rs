//! The methods of a server, read back by reflection.

use std::collections::BTreeSet;

use prost::Message as _;
use prost_types::FileDescriptorProto;
use tokio_stream::StreamExt as _;
use tonic::transport::Channel;
use tonic_reflection::pb::v1::ServerReflectionRequest;
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;

/// Names of the services.
pub(crate) async fn services(channel: &Channel) -> BTreeSet<String> {
    match ask(channel, MessageRequest::ListServices(String::new())).await {
        MessageResponse::ListServicesResponse(list) => {
            list.service.into_iter().map(|one| one.name).collect()
        }
        other => panic!("{other:?}"),
    }
}

/// The paths of all methods of all services.
pub(crate) async fn methods(channel: &Channel) -> BTreeSet<String> {
    let mut paths = BTreeSet::new();
    for name in services(channel).await {
        let symbol = MessageRequest::FileContainingSymbol(name.clone());
        let MessageResponse::FileDescriptorResponse(files) = ask(channel, symbol).await else {
            panic!("no file has {name}");
        };
        for file in files.file_descriptor_proto {
            let file = FileDescriptorProto::decode(file.as_slice()).unwrap();
            for service in &file.service {
                let service_name = format!("{}.{}", file.package(), service.name());
                if service_name == name {
                    let methods = service.method.iter();
                    paths.extend(methods.map(|method| format!("/{name}/{}", method.name())));
                }
            }
        }
    }
    paths
}

async fn ask(channel: &Channel, message: MessageRequest) -> MessageResponse {
    let request = ServerReflectionRequest {
        host: String::new(),
        message_request: Some(message),
    };
    let answers = ServerReflectionClient::new(channel.clone())
        .server_reflection_info(tokio_stream::once(request))
        .await;
    let answer = answers.unwrap().into_inner().next().await;
    answer.unwrap().unwrap().message_response.unwrap()
}
