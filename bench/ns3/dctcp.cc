// Figure 17 of Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010, as bench/peers.py asks for it:
//     dctcp SECONDS
// 10 senders S1 and 20 senders S2 at switch T1, 10 senders S3 at switch T2, 10 Gbit/s between the
// switches. S1 and S3 send to one receiver R1 at T2 (1 Gbit/s), each S2 to a receiver of its own.
// Prints three numbers: the bytes that S1, S2 and S3 delivered in the last second.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <array>
#include <iostream>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

constexpr uint64_t GBPS = 1'000'000'000;
constexpr uint64_t DELAY_NS = 10'000;
constexpr uint32_t SEGMENT_BYTES = 1448;
constexpr double START_SPREAD_S = 1;

class Wiring
{
  public:
    // Connects two nodes; a queue of `marked` packets or more marks what goes from a to b, if not 0.
    Ipv4Address Connect(Ptr<Node> a, Ptr<Node> b, uint64_t rateBps, uint32_t marked = 0)
    {
        PointToPointHelper link;
        link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(rateBps)));
        link.SetChannelAttribute("Delay", TimeValue(NanoSeconds(DELAY_NS)));
        auto devices = link.Install(a, b);
        TrafficControlHelper queue;
        if (marked)
        {
            // RED that marks all packets above a threshold of the instantaneous queue is DCTCP's.
            queue.SetRootQueueDisc("ns3::RedQueueDisc",
                                   "MinTh", DoubleValue(marked),
                                   "MaxTh", DoubleValue(marked),
                                   "QW", DoubleValue(1),
                                   "UseEcn", BooleanValue(true),
                                   "UseHardDrop", BooleanValue(false),
                                   "MeanPktSize", UintegerValue(1500),
                                   "LinkBandwidth", DataRateValue(DataRate(rateBps)),
                                   "LinkDelay", TimeValue(NanoSeconds(DELAY_NS)),
                                   "MaxSize", QueueSizeValue(QueueSize("2666p")));
            queue.Install(devices.Get(0));
        }
        auto interfaces = m_addresses.Assign(devices);
        if (!marked)
        {
            queue.Uninstall(devices.Get(0));
        }
        queue.Uninstall(devices.Get(1));
        m_addresses.NewNetwork();
        return interfaces.GetAddress(1);
    }

  private:
    Ipv4AddressHelper m_addresses{"10.1.1.0", "255.255.255.0"};
};

using Sinks = std::vector<Ptr<PacketSink>>;

void
Send(Ptr<Node> from, Ptr<Node> to, Ipv4Address address, uint16_t port, double startS, Sinks& sinks)
{
    const Address receiver = InetSocketAddress(address, port);
    auto sink = PacketSinkHelper("ns3::TcpSocketFactory", receiver).Install(to);
    sinks.push_back(DynamicCast<PacketSink>(sink.Get(0)));
    BulkSendHelper source("ns3::TcpSocketFactory", receiver);
    source.Install(from).Start(Seconds(startS));
}

uint64_t
Received(const Sinks& sinks)
{
    uint64_t bytes = 0;
    for (const auto& sink : sinks)
    {
        bytes += sink->GetTotalRx();
    }
    return bytes;
}

} // namespace

int
main(int argc, char* argv[])
{
    if (argc != 2)
    {
        std::cerr << "usage: dctcp SECONDS\n";
        return 2;
    }
    const double seconds = std::stod(argv[1]);
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpDctcp::GetTypeId()));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(SEGMENT_BYTES));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(2));

    NodeContainer s1(10), s2(20), s3(10), r2(20), single(3);
    auto t1 = single.Get(0), t2 = single.Get(1), r1 = single.Get(2);
    InternetStackHelper stack;
    for (const auto& nodes : {s1, s2, s3, r2, single})
    {
        stack.Install(nodes);
    }
    Wiring wiring;
    wiring.Connect(t1, t2, 10 * GBPS, 65);
    const auto r1Address = wiring.Connect(t2, r1, GBPS, 20);
    std::array<Sinks, 3> sinks;
    uint16_t port = 5201;
    uint32_t flow = 0;
    auto start = [&flow] { return START_SPREAD_S * flow++ / 40; };
    for (uint32_t i = 0; i < 10; i++)
    {
        wiring.Connect(s1.Get(i), t1, GBPS);
        Send(s1.Get(i), r1, r1Address, port++, start(), sinks[0]);
    }
    for (uint32_t i = 0; i < 20; i++)
    {
        wiring.Connect(s2.Get(i), t1, GBPS);
        const auto address = wiring.Connect(t2, r2.Get(i), GBPS, 20);
        Send(s2.Get(i), r2.Get(i), address, port, start(), sinks[1]);
    }
    for (uint32_t i = 0; i < 10; i++)
    {
        wiring.Connect(s3.Get(i), t2, GBPS);
        Send(s3.Get(i), r1, r1Address, port++, start(), sinks[2]);
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    std::array<uint64_t, 3> before{};
    Simulator::Schedule(Seconds(seconds - 1), [&] {
        for (size_t group = 0; group < sinks.size(); group++)
        {
            before[group] = Received(sinks[group]);
        }
    });
    Simulator::Stop(Seconds(seconds));
    Simulator::Run();
    for (size_t group = 0; group < sinks.size(); group++)
    {
        std::cout << Received(sinks[group]) - before[group] << std::endl;
    }
    Simulator::Destroy();
}
