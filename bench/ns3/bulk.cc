// One bulk TCP flow over a bottleneck, as bench/peers.py asks for it:
//     bulk RATE_BPS EDGE_RATE_BPS DELAY_NS QUEUE_PACKETS SECONDS CONGESTION_CONTROL
// Prints the bytes that the receiver's program has read.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <iostream>
#include <string>

using namespace ns3;

namespace
{

constexpr uint16_t PORT = 5201;
constexpr uint32_t SEGMENT_BYTES = 1448; // an MTU of 1500 with timestamps
constexpr uint32_t SOCKET_BUFFER_BYTES = 150'000'000;

NetDeviceContainer
Connect(Ptr<Node> a, Ptr<Node> b, uint64_t rateBps, uint64_t delayNs, uint32_t packets)
{
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(rateBps)));
    link.SetChannelAttribute("Delay", TimeValue(NanoSeconds(delayNs)));
    link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, packets)));
    return link.Install(a, b);
}

} // namespace

int
main(int argc, char* argv[])
{
    if (argc != 7)
    {
        std::cerr << "usage: bulk RATE_BPS EDGE_RATE_BPS DELAY_NS QUEUE_PACKETS SECONDS CONGESTION_CONTROL\n";
        return 2;
    }
    const uint64_t rateBps = std::stoull(argv[1]);
    const uint64_t edgeRateBps = std::stoull(argv[2]);
    const uint64_t delayNs = std::stoull(argv[3]);
    const uint32_t queuePackets = std::stoul(argv[4]);
    const double seconds = std::stod(argv[5]);

    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TypeId::LookupByName(argv[6])));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(SEGMENT_BYTES));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(SOCKET_BUFFER_BYTES));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(SOCKET_BUFFER_BYTES));

    NodeContainer nodes(3); // sender, router, receiver
    InternetStackHelper().Install(nodes);
    auto edge = Connect(nodes.Get(0), nodes.Get(1), edgeRateBps, 0, 1'000'000);
    auto bottleneck = Connect(nodes.Get(1), nodes.Get(2), rateBps, delayNs, queuePackets);
    Ipv4AddressHelper addresses("10.0.1.0", "255.255.255.0");
    addresses.Assign(edge);
    addresses.SetBase("10.0.2.0", "255.255.255.0");
    auto interfaces = addresses.Assign(bottleneck);
    // The queue is the device's; ns-3 would put FQ_CoDel above it.
    TrafficControlHelper::Default().Uninstall(edge);
    TrafficControlHelper::Default().Uninstall(bottleneck);
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    const Address receiver = InetSocketAddress(interfaces.GetAddress(1), PORT);
    auto sink = PacketSinkHelper("ns3::TcpSocketFactory", receiver).Install(nodes.Get(2));
    BulkSendHelper source("ns3::TcpSocketFactory", receiver);
    source.SetAttribute("SendSize", UintegerValue(128 * 1024)); // as iperf3 writes
    source.Install(nodes.Get(0)).Start(Seconds(0));

    Simulator::Stop(Seconds(seconds));
    Simulator::Run();
    std::cout << DynamicCast<PacketSink>(sink.Get(0))->GetTotalRx() << std::endl;
    Simulator::Destroy();
}
